package testkafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// awaitBroker waits until the process answers on its port as a member of this
// cluster that knows these brokers. That somebody answers is not enough: when
// the port was taken, it is somebody else.
func awaitBroker(ctx context.Context, p *process, clusterID string, brokers []int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(p.node.addr()), kgo.DialTimeout(time.Second))
	if err != nil {
		return fmt.Errorf("ask broker %d: %w", p.node.id, err)
	}
	defer client.Close()
	last := errors.New("it was not asked")
	err = poll(ctx, 50*time.Millisecond, func() (bool, error) {
		if !p.alive() {
			return true, p.failure()
		}
		err := knows(ctx, client.SeedBrokers()[0], clusterID, brokers)
		if err == nil {
			return p.alive(), nil
		}
		if ctx.Err() == nil { // running out of time is not what is missing
			last = err
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("broker %d is not ready: %w; %w; the end of %s:\n%s",
			p.node.id, err, last, p.node.log(), tail(p.node.log(), 40))
	}
	return err
}

// knows tells what is missing from a broker's answer.
func knows(ctx context.Context, broker *kgo.Broker, clusterID string, brokers []int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = []kmsg.MetadataRequestTopic{} // none, where nil is all
	answer, err := broker.Request(ctx, request)
	if err != nil {
		return fmt.Errorf("ask for metadata: %w", err)
	}
	metadata, ok := answer.(*kmsg.MetadataResponse)
	if !ok {
		return fmt.Errorf("ask for metadata: got %T", answer)
	}
	if metadata.ClusterID == nil || *metadata.ClusterID != clusterID {
		return errors.New("another cluster answers on this port")
	}
	for _, id := range brokers {
		if !slices.ContainsFunc(metadata.Brokers, func(b kmsg.MetadataResponseBroker) bool { return int(b.NodeID) == id }) {
			return fmt.Errorf("broker %d is not known yet", id)
		}
	}
	return nil
}

// checkFeatures makes sure of the consumer protocol: a cluster that was
// formatted badly looks well until a client asks for it.
func checkFeatures(ctx context.Context, addr string) error {
	features, err := finalized(ctx, addr)
	if err != nil {
		return err
	}
	if features["group.version"] < 1 {
		return fmt.Errorf("the consumer protocol is off: the finalized features are %v", features)
	}
	return nil
}

// finalized returns the levels of the features that the cluster has agreed on.
func finalized(ctx context.Context, addr string) (map[string]int16, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return nil, fmt.Errorf("ask for features: %w", err)
	}
	defer client.Close()
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "holdfast", "test"
	answer, err := client.Request(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("ask for features: %w", err)
	}
	versions, ok := answer.(*kmsg.ApiVersionsResponse)
	if !ok {
		return nil, fmt.Errorf("ask for features: got %T", answer)
	}
	if err := kerr.ErrorForCode(versions.ErrorCode); err != nil {
		return nil, fmt.Errorf("ask for features: %w", err)
	}
	features := make(map[string]int16, len(versions.FinalizedFeatures))
	for _, feature := range versions.FinalizedFeatures {
		features[feature.Name] = feature.MaxVersionLevel
	}
	return features, nil
}
