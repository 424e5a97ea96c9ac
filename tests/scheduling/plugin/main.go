// A kube-scheduler with one plugin more, of the kind that reads one whole number from an annotation of
// a node: all that such a plugin needs of Cepheid is `ai.centaurus.io/free-gpu-score`.
//
// For the tests, and to start from. It does not look at `valid-until`, as such plugins do not.
package main

import (
	"context"
	"os"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-base/cli"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const (
	name = "FreeGPUScore"
	key  = "ai.centaurus.io/free-gpu-score"
)

type freeGPUScore struct{}

var _ framework.ScorePlugin = freeGPUScore{}

func (freeGPUScore) Name() string { return name }

// Score is the number itself: it is 0 to 100, as the scheduler's own scores are. A node without one, or
// with one that is none, gets the lowest, and is not left out.
func (freeGPUScore) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	score, err := strconv.ParseInt(node.Node().Annotations[key], 10, 64)
	if err != nil || score < framework.MinNodeScore || score > framework.MaxNodeScore {
		return framework.MinNodeScore, nil
	}
	return score, nil
}

func (freeGPUScore) ScoreExtensions() framework.ScoreExtensions { return nil }

func made(context.Context, runtime.Object, framework.Handle) (framework.Plugin, error) {
	return freeGPUScore{}, nil
}

func main() {
	os.Exit(cli.Run(app.NewSchedulerCommand(app.WithPlugin(name, made))))
}
