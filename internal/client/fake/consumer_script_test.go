package fake_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-kafka/holdfast/internal/client"
	"github.com/holdfast-kafka/holdfast/internal/client/fake"
)

func TestCommitsFailAsOrdered(t *testing.T) {
	bubble(t, fake.Config{}, 2, func(t *testing.T, c *fake.Cluster) {
		s := member(t, c, nil)
		defer s.close()
		c.FailCommits(1, client.RequestTimedOut)
		c.FailCommitsOn(1, client.NotCoordinator, at(1))
		s.store(0, 5)
		s.store(1, 6)
		wantCode(t, "first commit", s.Commit(), client.RequestTimedOut)
		wantCommitted(t, c, 0, client.OffsetStored)
		wantCode(t, "second commit", s.Commit(), client.NotCoordinator)
		wantCommitted(t, c, 0, 5)
		wantCommitted(t, c, 1, client.OffsetStored)
		wantCode(t, "third commit", s.Commit(), 0)
		wantCommitted(t, c, 1, 6)
	})
}

func TestHeldCommitWaitsForReleaseAndForItsGeneration(t *testing.T) {
	bubble(t, fake.Config{}, 2, func(t *testing.T, c *fake.Cluster) {
		s := member(t, c, nil)
		defer s.close()
		s.store(0, 5)
		release := c.HoldCommits()
		answers := make(chan error, 1)
		go func() { answers <- s.Commit() }()
		synctest.Wait()
		wantCommitted(t, c, 0, client.OffsetStored)
		release()
		wantCode(t, "released commit", <-answers, 0)
		wantCommitted(t, c, 0, 5)

		s.store(0, 7)
		release = c.HoldCommits()
		go func() { answers <- s.Commit() }()
		synctest.Wait()
		c.Take("g", at(1))
		s.polls(time.Second)
		release()
		wantCode(t, "commit of an older generation", <-answers, client.IllegalGeneration)
		wantCommitted(t, c, 0, 5)
	})
}

func TestTakenPartitionsAreRevokedAndComeBack(t *testing.T) {
	bubble(t, fake.Config{}, 2, func(t *testing.T, c *fake.Cluster) {
		s := member(t, c, nil)
		defer s.close()
		c.Take("g", at(1))
		s.polls(time.Second)
		if got := s.Assignment(); !slices.Equal(got, []client.TopicPartition{at(0)}) {
			t.Errorf("assigned %v after the other was taken", got)
		}
		c.GiveBack("g", at(1))
		s.polls(time.Second)
		if got := s.Assignment(); len(got) != 2 {
			t.Errorf("assigned %v after it was given back", got)
		}
	})
}

func TestLostMemberIsToldAndJoinsAgain(t *testing.T) {
	bubble(t, fake.Config{}, 2, func(t *testing.T, c *fake.Cluster) {
		s := member(t, c, nil)
		defer s.close()
		s.store(0, 3)
		s.Lose(client.MaxPollExceeded)
		wantCode(t, "commit while lost", s.Commit(), client.AssignmentLost)
		s.polls(time.Second)
		if len(s.failures) != 1 {
			t.Fatalf("got failures %v, want one", s.failures)
		}
		wantCode(t, "failure", s.failures[0], client.MaxPollExceeded)
		lost := s.rebalances[1]
		if lost.Kind != client.Revoked || !lost.Lost || len(lost.Partitions) != 2 {
			t.Errorf("got %+v, want both partitions lost", lost)
		}
		if got := s.Assignment(); len(got) != 2 {
			t.Errorf("assigned %v, want both again", got)
		}
		wantCommitted(t, c, 0, client.OffsetStored)
	})
}

// The time in a callback counts: a drain that takes too long loses everything.
func TestSlowCallbackLosesTheMembership(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]time.Duration{"just in time": 10*time.Second - 1, "too late": 10*time.Second + 1} {
		t.Run(name, func(t *testing.T) {
			bubble(t, fake.Config{}, 2, func(t *testing.T, c *fake.Cluster) {
				s := member(t, c, client.Config{"max.poll.interval.ms": "10000"})
				defer s.close()
				s.onRevoked = func(client.Rebalance) {
					s.onRevoked = nil
					timer := time.NewTimer(drain)
					<-timer.C
				}
				c.Take("g", at(1))
				s.polls(time.Second)
				s.polls(time.Second)
				lost := slices.ContainsFunc(s.rebalances, func(r client.Rebalance) bool { return r.Lost })
				if want := drain > 10*time.Second; lost != want {
					t.Errorf("lost: %t, want %t, after %v of a limit of 10 s", lost, want, drain)
				}
			})
		})
	}
}

func TestFatalErrorMakesCloseRefuse(t *testing.T) {
	bubble(t, fake.Config{}, 1, func(t *testing.T, c *fake.Cluster) {
		s := member(t, c, nil)
		s.Fail(client.Error{Code: client.FencedInstanceID, Text: "fenced", Fatal: true})
		s.polls(time.Second)
		if len(s.failures) != 1 || !client.IsFatal(s.failures[0]) {
			t.Errorf("got failures %v, want a fatal one", s.failures)
		}
		wantCode(t, "close", s.Close(), client.State)
		if got := c.Consumers("g"); len(got) != 0 {
			t.Errorf("%d consumers are left", len(got))
		}
	})
}

func TestResumeAndRebalanceFetchAgainLate(t *testing.T) {
	const late = 400 * time.Millisecond
	bubble(t, fake.Config{Delays: fake.Delays{Fetch: late}}, 2, func(t *testing.T, c *fake.Cluster) {
		s := consume(t, c, nil)
		defer s.close()
		c.Append(at(0), make([]client.Message, 10)...)
		if err := s.Assign([]client.Offset{position(0, 0)}); err != nil {
			t.Fatal(err)
		}
		// The whole partition is fetched, one record is taken.
		for len(s.records) == 0 {
			var m client.Message
			if kind, _ := s.Poll(time.Second, &m); kind == client.Record {
				s.records = append(s.records, m)
			}
		}
		if fetched, delivered := s.Counts(); fetched != 10 || delivered != 1 {
			t.Errorf("fetched %d and delivered %d, want 10 and 1", fetched, delivered)
		}
		parts := []client.TopicPartition{at(0)}
		if err := errors.Join(s.Pause(parts), s.Resume(parts)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.polls(late/2 - 1)
		if len(s.records) != 1 {
			t.Errorf("a record came %v after resume", time.Since(began))
		}
		s.polls(late)
		if fetched, delivered := s.Counts(); fetched != 19 || delivered != 10 {
			t.Errorf("fetched %d and delivered %d, want 19 and 10", fetched, delivered)
		}
	})
}

// A rebalance costs the prefetch of the partitions that stay, and they begin
// again late after the callback, however long it took.
func TestRebalanceFetchesKeptPartitionsAgain(t *testing.T) {
	const late = 400 * time.Millisecond
	bubble(t, fake.Config{Delays: fake.Delays{Fetch: late}}, 2, func(t *testing.T, c *fake.Cluster) {
		s := consume(t, c, nil)
		defer s.close()
		c.Append(at(0), make([]client.Message, 10)...)
		s.join()
		for len(s.records) == 0 {
			var m client.Message
			if kind, _ := s.Poll(time.Second, &m); kind == client.Record {
				s.records = append(s.records, m)
			}
		}
		var answered time.Time
		s.onRevoked = func(client.Rebalance) {
			s.onRevoked = nil
			timer := time.NewTimer(10 * late)
			<-timer.C
			answered = time.Now()
		}
		c.Take("g", at(1))
		for len(s.records) == 1 {
			var m client.Message
			if kind, _ := s.Poll(time.Second, &m); kind == client.Record {
				s.records = append(s.records, m)
			}
		}
		if took := time.Since(answered); took < late/2 {
			t.Errorf("the kept partition went on %v after the callback, want at least %v", took, late/2)
		}
		if fetched, _ := s.Counts(); fetched != 19 {
			t.Errorf("fetched %d, want 10 and then the 9 not taken", fetched)
		}
	})
}

// An eager group hands out nothing before everybody has given up everything.
func TestEagerRoundWaitsForAll(t *testing.T) {
	bubble(t, fake.Config{}, 3, func(t *testing.T, c *fake.Cluster) {
		eager := client.Config{"partition.assignment.strategy": "range"}
		first, second, third := consume(t, c, eager), consume(t, c, eager), consume(t, c, eager)
		first.join()
		second.join()
		for range 3 {
			first.polls(time.Second)
			second.polls(time.Second)
		}
		third.join()
		for range 3 {
			first.polls(time.Second)
			third.polls(time.Second)
		}
		if a, b, c := len(first.Assignment()), len(second.Assignment()), len(third.Assignment()); a != 0 || b == 0 || c != 0 {
			t.Errorf("assigned %d, %d and %d while the second has not answered", a, b, c)
		}
		for range 3 {
			second.polls(time.Second)
			first.polls(time.Second)
			third.polls(time.Second)
		}
		if a, b, c := len(first.Assignment()), len(second.Assignment()), len(third.Assignment()); a != 1 || b != 1 || c != 1 {
			t.Errorf("assigned %d, %d and %d, want one each", a, b, c)
		}
		first.close()
		second.close()
		third.close()
	})
}

// Close in the middle of a rebalance comes too late to store anything.
func TestCloseWhileJoiningRefusesStore(t *testing.T) {
	bubble(t, fake.Config{Delays: fake.Delays{Join: time.Second}}, 2, func(t *testing.T, c *fake.Cluster) {
		s := consume(t, c, nil)
		s.join()
		s.polls(2 * time.Second)
		told := 0
		s.onRevoked = func(r client.Rebalance) {
			told++
			if len(r.Partitions) != 2 {
				t.Errorf("told of %v, want both partitions", r.Partitions)
			}
			wantCode(t, "store", s.Store([]client.Offset{position(0, 1)}), client.State)
			wantCode(t, "unassign", s.Unassign(r.Partitions), 0)
		}
		c.Rebalance("g")
		s.close()
		if told != 1 {
			t.Errorf("told of %d revocations, want one", told)
		}
	})
}

func TestMisuseIsTold(t *testing.T) {
	var told []error
	bubble(t, fake.Config{OnMisuse: func(err error) { told = append(told, err) }}, 1, func(t *testing.T, c *fake.Cluster) {
		s := member(t, c, nil)

		polled := make(chan struct{})
		go func() {
			defer close(polled)
			s.polls(time.Second)
		}()
		synctest.Wait()
		_ = s.Pause([]client.TopicPartition{at(0)})
		<-polled
		if len(told) != 1 {
			t.Errorf("pause during a poll: told %v", told)
		}

		s.store(0, 1)
		release := c.HoldCommits()
		committed := make(chan error)
		go func() { committed <- s.Commit() }()
		synctest.Wait()
		_ = s.Close()
		if len(told) != 2 {
			t.Errorf("close during a commit: told %v", told)
		}
		release()
		<-committed
	})
}
