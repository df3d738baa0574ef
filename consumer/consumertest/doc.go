// Package consumertest helps to test programs that consume with Holdfast: an
// embedded broker that starts in a call and needs nothing installed.
package consumertest
