package consumer

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
)

func TestCommitsComeAtTheIntervalAndOnlyWhenSomethingMoved(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		m := r.run(done, func(c *Config) { c.CommitInterval = 5 * time.Second })
		m.owns(2)
		for range 300 {
			r.put(0, "a")
			pass(100 * time.Millisecond)
		}
		r.untilCommitted("orders", 0, 300)
		commits := r.library.made()[0].committed()
		if len(commits) < 5 || len(commits) > 7 {
			t.Errorf("%d commits in half a minute, want one each 5 s", len(commits))
		}
		for i := range commits {
			if i > 0 && commits[i].Sub(commits[i-1]) < 5*time.Second {
				t.Errorf("a commit came %v after the last", commits[i].Sub(commits[i-1]))
			}
		}
		pass(5 * time.Minute)
		if n := len(r.library.made()[0].committed()) - len(commits); n != 0 {
			t.Errorf("%d commits while nothing moved", n)
		}
		m.stop()
	})
}

func TestFailedCommitsAreRepeated(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]client.TopicPartition{"whole": nil, "partly": {at("orders", 1)}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, orders(2), func(t *testing.T, r *rig) {
				r.cluster.FailCommitsOn(3, client.RequestTimedOut, parts...)
				r.putN(0, 5)
				r.putN(1, 5)
				m := r.run(done)
				r.untilCommitted("orders", 1, 5)
				r.untilCommitted("orders", 0, 5)
				if n := len(r.library.made()[0].committed()); n != 4 {
					t.Errorf("%d commits, want 4", n)
				}
				if r.logged("commit failed") == 0 {
					t.Error("nobody was told")
				}
				m.stop()
				if n := len(r.made()); n != 10 {
					t.Errorf("%d calls for 10 records", n)
				}
			})
		})
	}
}

func TestAnUnansweredCommitDoesNotStopTheHandling(t *testing.T) {
	bubble(t, orders(2), func(t *testing.T, r *rig) {
		m := r.run(done)
		m.owns(2)
		release := r.cluster.HoldCommits()
		for range 60 {
			r.put(0, "a")
			r.put(1, "a")
			pass(time.Second)
		}
		if n := len(r.made()); n != 120 {
			t.Errorf("%d calls in a minute without an answer, want 120", n)
		}
		r.wantCommitted("orders", 0, client.OffsetStored)
		if n := len(r.library.made()[0].committed()); n != 1 {
			t.Errorf("%d commits outstanding, want 1", n)
		}
		release()
		r.untilCommitted("orders", 0, 60)
		r.untilCommitted("orders", 1, 60)
		m.stop()
	})
}

func TestCommittedStopsAtTheOldestUnfinished(t *testing.T) {
	bubble(t, orders(1), func(t *testing.T, r *rig) {
		v := newValve()
		m := r.run(func(ctx context.Context, rec *Record) error {
			if rec.Offset == 3 {
				return v.handle(ctx, rec)
			}
			return nil
		}, func(c *Config) { c.Routes[0].Ordering = Unordered })
		r.putN(0, 50)
		r.untilCommitted("orders", 0, 3)
		pass(30 * time.Second)
		r.wantCommitted("orders", 0, 3)
		close(v.open)
		r.untilCommitted("orders", 0, 50)
		m.stop()
	})
}
