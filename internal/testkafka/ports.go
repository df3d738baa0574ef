package testkafka

import (
	"fmt"
	"net"
)

// freePorts picks n ports that were free a moment ago. They are held all at
// once, so that no two are the same.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		held, err := net.Listen("tcp", loopback(0)) //nolint:noctx // returns at once
		if err != nil {
			return nil, fmt.Errorf("pick a port: %w", err)
		}
		defer held.Close() //nolint:errcheck // nothing was written
		addr, ok := held.Addr().(*net.TCPAddr)
		if !ok {
			return nil, fmt.Errorf("pick a port: listening on %v", held.Addr())
		}
		ports = append(ports, addr.Port)
	}
	return ports, nil
}
