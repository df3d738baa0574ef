package consumer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/fake"
)

// refused runs a consumer that must not start and returns why.
func (r *rig) refused(change ...func(*Config)) string {
	r.t.Helper()
	m := r.run(done, change...)
	<-m.over
	if m.result == nil {
		r.t.Fatalf("Run returned nil, want an error")
	}
	if n := len(r.library.made()); n != 0 {
		r.t.Errorf("%d consumers were made before the topics were checked", n)
	}
	return m.result.Error()
}

func verify(c *Config) { c.Provision = Verify }

// wantText checks that every one of these is told.
func wantText(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("not told: %s\nin: %s", want, text)
		}
	}
}

func TestVerifyTellsEveryMissingTopic(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		text := r.refused(verify, func(c *Config) {
			c.Routes = append(c.Routes, Route{Topics: []string{"refunds"}, Handler: HandlerFunc(done), RetryMode: InPlace, DLQ: DLQDrop})
		})
		wantText(t, text, "retry lane "+lane(time.Second)+": does not exist", "retry lane "+lane(10*time.Second)+": does not exist",
			"replay lane "+replays+": does not exist", "dead-letter topic "+deadLetters+": does not exist",
			"topic refunds: does not exist")
	})
}

func TestVerifyTellsWhatATopicCannotHold(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig) {
		admin, _ := r.cluster.Admin(nil)
		err := admin.CreateTopics(t.Context(), []client.TopicSpec{{
			Topic: "orders", Partitions: 2, ReplicationFactor: 3,
			Config: map[string]string{"min.insync.replicas": "2", "retention.ms": "1209600000", "max.message.bytes": "2000000"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r.topic(lane(time.Second), 2, map[string]string{
			"cleanup.policy": "compact", "retention.ms": "604800000", "retention.bytes": "1000", "message.timestamp.type": "LogAppendTime",
			"max.message.bytes": "3000000", "min.insync.replicas": "1",
		})
		r.topic(lane(10*time.Second), 2, map[string]string{"retention.ms": "-1", "min.insync.replicas": "2", "max.message.bytes": "1000"})
		r.topic(replays, 2, map[string]string{"retention.ms": "1", "min.insync.replicas": "2", "max.message.bytes": "3000000"})
		r.topic(deadLetters, 2, map[string]string{"cleanup.policy": "compact,delete", "min.insync.replicas": "2", "max.message.bytes": "2000000"})
		text := r.refused(verify)
		first, second := "retry lane "+lane(time.Second), "retry lane "+lane(10*time.Second)
		wantText(t, text,
			first+": cleanup.policy is compact", first+": retention.ms is 604800000, expected at least 1209600000",
			first+": retention.bytes is 1000", first+": message.timestamp.type is LogAppendTime",
			first+": min.insync.replicas is 1", first+": has 1 replicas, its source orders has 3",
			second+": max.message.bytes is 1000", "replay lane "+replays+": retention.ms is 1,",
			"dead-letter topic "+deadLetters+": cleanup.policy is compact,delete",
			"dead-letter topic "+deadLetters+": max.message.bytes is 2000000, expected at least 2065536")
		if strings.Contains(text, second+": retention.ms") {
			t.Errorf("a lane without a limit of time was refused: %s", text)
		}
	})
}

func TestSettingsThatCannotBeReadAreNoReasonNotToStart(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.allTopics()
		r.cluster.FailAdmin(fake.CallTopicConfig, client.TopicAuthorization, 100)
		r.put(0, "x")
		m := r.run(poisoned, verify)
		r.untilCommitted("orders", 0, 1)
		m.stop()
		if r.logged("settings of a topic could not be checked") == 0 {
			t.Error("nobody was told")
		}
		if n := len(r.letters()); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
	})
}

func TestCreateMakesWhatIsMissingLikeTheSource(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig) {
		admin, _ := r.cluster.Admin(nil)
		err := admin.CreateTopics(t.Context(), []client.TopicSpec{{
			Topic: "orders", Partitions: 5, ReplicationFactor: 3,
			Config: map[string]string{"min.insync.replicas": "2", "retention.ms": "1209600000", "max.message.bytes": "2000000"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		m := r.run(done)
		m.owns(5)
		m.stop()
		names := []string{lane(time.Second), lane(10 * time.Second), replays, deadLetters}
		infos, err := admin.Describe(t.Context(), names)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			if infos[i].Partitions != 5 || infos[i].ReplicationFactor != 3 {
				t.Errorf("%s has %d partitions and %d replicas, want 5 and 3", name, infos[i].Partitions, infos[i].ReplicationFactor)
			}
			got, _ := admin.TopicConfig(t.Context(), name)
			want := map[string]string{
				"cleanup.policy": "delete", "retention.bytes": "-1", "retention.ms": "1209600000",
				"message.timestamp.type": "CreateTime", "max.message.bytes": "2065536", "min.insync.replicas": "2",
			}
			if name == deadLetters {
				want["retention.ms"] = "2592000000"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		m = r.run(done, verify) // and what was created passes the check
		m.owns(5)
		m.stop()
	})
}

func TestCreateForASourceKeptForEverPassesItsOwnCheck(t *testing.T) {
	bubble(t, nil, func(t *testing.T, r *rig) {
		r.topic("orders", 1, map[string]string{"retention.ms": "-1"})
		m := r.run(done)
		m.owns(1)
		m.stop()
		m = r.run(done, verify)
		m.owns(1)
		m.stop()
	})
}

func TestMembersThatCreateAtOnceBothStart(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		first, second := r.run(done), r.run(done)
		first.owns(1)
		second.owns(1)
		first.stop()
		second.stop()
	})
}

// racing is a library whose admin finds that another member was faster.
type racing struct{ client.Library }

func (l racing) Admin(config client.Config) (client.Admin, error) {
	admin, err := l.Library.Admin(config)
	return racingAdmin{admin}, err
}

type racingAdmin struct{ client.Admin }

func (a racingAdmin) CreateTopics(ctx context.Context, specs []client.TopicSpec) error {
	if err := a.Admin.CreateTopics(ctx, specs); err != nil {
		return err
	}
	return a.Admin.CreateTopics(ctx, specs)
}

func TestTopicsThatAnotherMemberCreatedMeanwhileAreFine(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		m := r.run(done, func(c *Config) { c.library = racing{c.library} })
		m.owns(1)
		m.stop()
	})
}

func TestCreateIsRefused(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.cluster.FailAdmin(fake.CallCreateTopics, client.ClusterAuthorization, 1)
		wantText(t, r.refused(), "create topics", "(31)")
	})
}

func TestABrokerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, call := range []fake.AdminCall{fake.CallClusterID, fake.CallTopics, fake.CallDescribe} {
		t.Run(string(call), func(t *testing.T) {
			bubble(t, orders(1), func(t *testing.T, r *rig) {
				r.cluster.FailAdmin(call, client.TimedOut, 1000)
				text := r.refused()
				wantText(t, text, "(-185)")
				if call == fake.CallClusterID {
					wantText(t, text, "no answer from brokers fake:9092 within 30s")
				}
			})
		})
	}
}

func TestProvisionOffHoldsUntilTheTopicIsThere(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		r.put(0, "a", "x", "b")
		m := r.run(poisoned, func(c *Config) { c.Provision = ProvisionOff })
		r.untilCommitted("orders", 0, 1)
		pass(2 * time.Minute)
		r.wantCommitted("orders", 0, 1)
		r.topic(deadLetters, 3, nil)
		r.untilCommitted("orders", 0, 3)
		m.stop()
		if n := len(r.letters()); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
	})
}
