module shoal/bench/peers/go/redispipe

go 1.26.0

require (
	github.com/joomcode/redispipe v0.9.8
	shoal/bench/peers/go v0.0.0
)

require (
	github.com/joomcode/errorx v1.0.3 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace shoal/bench/peers/go => ../
