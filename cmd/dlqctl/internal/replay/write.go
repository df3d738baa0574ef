package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-kafka/holdfast/cmd/dlqctl/internal/output"
	"github.com/holdfast-kafka/holdfast/dlq"
)

// jsonPlan is a plan in JSON.
type jsonPlan struct {
	Kind     string              `json:"kind"`
	DLQ      string              `json:"dlq"`
	Cluster  string              `json:"cluster"`
	ToSource bool                `json:"toSource"`
	Scanned  int64               `json:"scanned"`
	Selected int64               `json:"selected"`
	Planned  int                 `json:"planned"`
	Skipped  map[string]jsonSkip `json:"skipped"`
	Targets  []jsonTarget        `json:"targets"`
}

type jsonSkip struct {
	Count    int64    `json:"count"`
	Blocked  bool     `json:"blocked"`
	Examples []string `json:"examples"`
}

type jsonTarget struct {
	Topic      string   `json:"topic"`
	Exists     bool     `json:"exists"`
	Partitions int      `json:"partitions"`
	Records    int64    `json:"records"`
	Groups     []string `json:"groups,omitempty"`
}

// jsonResult is the result of a run in JSON.
type jsonResult struct {
	Kind        string              `json:"kind"`
	Run         string              `json:"run"`
	Planned     int64               `json:"planned"`
	Sent        int64               `json:"sent"`
	Settled     int64               `json:"settled"`
	Skipped     map[string]jsonSkip `json:"skipped"`
	Left        int64               `json:"left"`
	Interrupted bool                `json:"interrupted"`
}

func jsonSkips(skips dlq.Skips) map[string]jsonSkip {
	out := map[string]jsonSkip{}
	for reason, k := range skips {
		out[string(reason)] = jsonSkip{Count: k.Count, Blocked: reason.Blocked(), Examples: ids(k.Examples)}
	}
	return out
}

func ids(list []dlq.ID) []string {
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = dlq.ID{Partition: id.Partition, Offset: id.Offset}.String()
	}
	return out
}

func (o *Options) writePlan(plan *dlq.Plan) error {
	if o.Format == output.Table {
		return o.writePlanTable(plan)
	}
	p := jsonPlan{
		Kind: "plan", DLQ: plan.DLQ, Cluster: plan.Cluster, ToSource: plan.ToSource, Scanned: plan.Scanned,
		Selected: plan.Selected, Planned: len(plan.Items), Skipped: jsonSkips(plan.Skips), Targets: []jsonTarget{},
	}
	for _, t := range plan.Targets {
		p.Targets = append(p.Targets, jsonTarget{
			Topic: t.Topic, Exists: t.Exists, Partitions: t.Partitions, Records: t.Records, Groups: t.Groups,
		})
	}
	return o.writeValue(p)
}

func (o *Options) writeValue(v any) error {
	if o.Format == output.NDJSON {
		return output.WriteLine(o.Streams.Out, v)
	}
	return output.WriteJSON(o.Streams.Out, v)
}

// lines collects "name<tab>value" lines of a plan or a result.
type lines struct{ rows *output.Rows }

func (o *Options) newLines() *lines {
	return &lines{rows: output.NewRows(o.Streams.Out, false)}
}

func (l *lines) addf(name, format string, args ...any) {
	l.rows.Add(name, fmt.Sprintf(format, args...))
}

func (l *lines) skips(skips dlq.Skips) {
	for _, reason := range slices.Sorted(maps.Keys(skips)) {
		k := skips[reason]
		l.addf("skipped", "%d %s: %s, such as %s", k.Count, reason, explain(reason), strings.Join(ids(k.Examples), " "))
	}
}

func (o *Options) writePlanTable(plan *dlq.Plan) error {
	l := o.newLines()
	l.addf("dlq", "%s", plan.DLQ)
	l.addf("cluster", "%s", plan.Cluster)
	l.addf("scanned", "%d", plan.Scanned)
	l.addf("selected", "%d", plan.Selected)
	l.addf("planned", "%d", len(plan.Items))
	for _, t := range plan.Targets {
		if t.Records > 0 {
			l.addf("target", "%d to %s", t.Records, t.Topic)
		}
		if plan.ToSource && t.Exists {
			l.addf("readers", "%s: every group that reads it gets them: %s", t.Topic, groups(t.Groups))
		}
	}
	l.skips(plan.Skips)
	if plan.Lease != nil {
		l.addf("lease", "%s", plan.Lease.Error())
	}
	return l.rows.Close()
}

func groups(names []string) string {
	if len(names) == 0 {
		return "none has committed a position"
	}
	return strings.Join(names, ", ")
}

func (o *Options) writeResult(plan *dlq.Plan, result *dlq.RunResult) error {
	if o.Format != output.Table {
		return o.writeValue(jsonResult{
			Kind: "result", Run: result.Run, Planned: result.Planned, Sent: result.Sent, Settled: result.Settled,
			Skipped: jsonSkips(result.Skips), Left: result.Left, Interrupted: result.Interrupted,
		})
	}
	l := o.newLines()
	l.addf("run", "%s", result.Run)
	l.addf("sent", "%d of %d", result.Sent, len(plan.Items))
	if result.Settled > 0 {
		l.addf("settled", "%d duplicates", result.Settled)
	}
	l.skips(result.Skips)
	if result.Left > 0 {
		l.addf("left", "%d", result.Left)
	}
	return l.rows.Close()
}

// explain says what a reason means and what to do.
func explain(reason dlq.SkipReason) string { //nolint:cyclop // a table
	switch reason {
	case dlq.SkipDecided:
		return "already replayed, resolved or quarantined"
	case dlq.SkipDuplicate:
		return "another dead letter of the same record is sent or was"
	case dlq.SkipForeign:
		return "written by another system, no default target"
	case dlq.SkipUnreadable:
		return "headers are damaged"
	case dlq.SkipCluster:
		return "from another cluster"
	case dlq.SkipMaxReplays:
		return "replayed too often, see --max-replays"
	case dlq.SkipTombstone:
		return "null value, see --allow-tombstones"
	case dlq.SkipTooLarge:
		return "over the target's max.message.bytes"
	case dlq.SkipNoTarget:
		return "the target topic does not exist"
	case dlq.SkipLoop:
		return "would go to the DLQ itself"
	case dlq.SkipLimit:
		return "over --limit"
	case dlq.SkipExpired:
		return "no longer there"
	default:
		return "skipped"
	}
}
