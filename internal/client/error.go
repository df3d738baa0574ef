package client

import (
	"errors"
	"fmt"
)

// Code is an error code with the numbers of Kafka's protocol (positive) and
// of librdkafka (negative). Errors are judged by code and never by the
// library's own "retriable" flag, which is false for nearly every error.
type Code int

// The codes Holdfast tells apart.
const (
	MsgTimedOut              Code = -192
	AllBrokersDown           Code = -187
	UnknownPartition         Code = -190
	UnknownTopic             Code = -188
	Transport                Code = -195
	BadMsg                   Code = -199
	TimedOut                 Code = -185
	QueueFull                Code = -184
	InvalidArg               Code = -186
	SSL                      Code = -181
	WaitCoord                Code = -180
	State                    Code = -172
	Authentication           Code = -169
	NoOffset                 Code = -168
	PurgeQueue               Code = -152
	PurgeInflight            Code = -151
	FatalError               Code = -150
	MaxPollExceeded          Code = -147
	Fenced                   Code = -144
	AssignmentLost           Code = -142
	AutoOffsetReset          Code = -140
	OffsetOutOfRange         Code = 1
	CorruptMessage           Code = 2
	UnknownTopicOrPartition  Code = 3
	LeaderNotAvailable       Code = 5
	NotLeader                Code = 6
	RequestTimedOut          Code = 7
	MsgSizeTooLarge          Code = 10
	CoordinatorNotAvailable  Code = 15
	NotCoordinator           Code = 16
	NotEnoughReplicas        Code = 19
	IllegalGeneration        Code = 22
	UnknownMemberID          Code = 25
	RebalanceInProgress      Code = 27
	TopicAuthorization       Code = 29
	GroupAuthorization       Code = 30
	ClusterAuthorization     Code = 31
	TopicAlreadyExists       Code = 36
	InvalidReplicationFactor Code = 38
	InvalidProducerEpoch     Code = 47
	TransactionalIDAuth      Code = 53
	FencedInstanceID         Code = 82
	InvalidRecord            Code = 87
	StaleMemberEpoch         Code = 113
)

// Error is an error of the client library.
type Error struct {
	Code Code
	Text string
	// Fatal: the client that reported it is of no more use, and a consumer
	// must not be closed after it.
	Fatal bool
	// Abort: the open transaction must be aborted and can then be repeated.
	Abort bool
	// Retry: the same transactional call must be made again.
	Retry bool
}

// Error returns the library's text with the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Text, e.Code) }

// CodeOf returns the code of the first [Error] in err's tree, or zero.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return 0
}

// IsFatal reports whether err's tree holds a fatal [Error].
func IsFatal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Fatal
}
