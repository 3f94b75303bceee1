// On which Nodes the pods of a DaemonSet run.
// Source: k8s.io/kubernetes/pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod), k8s.io/component-helpers/scheduling/corev1/nodeaffinity

import {
  type LabelOperator,
  type LabelRequirement,
  newLabelRequirement,
  SelectorError,
} from "@postern/apimachinery/selectors/label-requirement";
import { compileLabelSelector, labelOperatorOf } from "@postern/apimachinery/selectors/label-selector";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { PodSpec } from "../../../builtin/workloads/pods/pod-fields.ts";
import { matchingToleration } from "../matching-tolerations.ts";
import type { WorkloadPort } from "../workload-port.ts";
import { daemonTolerations } from "./daemon-set.ts";
import type { NodeState } from "./followed-nodes.ts";

/** `run`: a pod belongs there. `stay`: one that is there stays. `leave`: it goes. */
export type NodeFit = "run" | "stay" | "leave";

export type NodeRule = {
  /** Undefined: there is no such Node. */
  fit(node: NodeState | undefined): NodeFit;
};

type Expression = { readonly key?: string; readonly operator?: string; readonly values?: readonly string[] };
type Term = { readonly matchExpressions?: readonly Expression[]; readonly matchFields?: readonly Expression[] };
type Test = (node: NodeState) => boolean;

const readRule = createMemberReader({
  spec: {
    template: {
      spec: {
        nodeName: true,
        nodeSelector: true,
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: true } },
        tolerations: true,
        hostNetwork: true,
      },
    },
  },
});

/** Bytes of a DaemonSet that cost as much as a look at one object: to read, and to match. */
const BYTES_OF_READ = 10;
const BYTES_OF_MATCH = 100;
const TAINTS_OF_LOOK = 10;
/** Rules of larger DaemonSets are read again each time: memory would hold what is stored twice. */
const MOST_KEPT_BYTES = 16_384;

/** Reads the rules of DaemonSets. Each match counts as looks. */
export function createNodeRules({ looks }: Pick<WorkloadPort, "looks">): (set: CachedObject) => NodeRule {
  const known = new WeakMap<CachedObject, NodeRule>();
  return (set) => {
    const before = known.get(set);
    if (before !== undefined) return before;
    looks.spend(Math.ceil(set.byteLength / BYTES_OF_READ));
    // Stored objects have passed the schema of their kind.
    const read = set.read(readRule) as { readonly spec?: { readonly template?: { readonly spec?: PodSpec } } };
    const fitOf = fitTest(read.spec?.template?.spec ?? ({} as PodSpec));
    const cost = Math.ceil(set.byteLength / BYTES_OF_MATCH);
    const rule: NodeRule = {
      fit(node) {
        if (node === undefined) return "leave";
        looks.spend(cost + Math.floor(node.taints.length / TAINTS_OF_LOOK));
        return fitOf(node);
      },
    };
    if (set.byteLength <= MOST_KEPT_BYTES) known.set(set, rule);
    return rule;
  };
}

export function fitTest(spec: PodSpec): (node: NodeState) => NodeFit {
  const { nodeName = "", nodeSelector = {} } = spec;
  const { nodeAffinity } = (spec.affinity ?? {}) as {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Term[] };
    };
  };
  const selects = compileLabelSelector(
    Object.entries(nodeSelector).map(([key, value]) => ({ key, operator: "=", values: [value] })),
  );
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = required?.nodeSelectorTerms?.map(termTest);
  const matching = matchingToleration(daemonTolerations(spec));
  return (node) => {
    const isElsewhere = nodeName !== "" && nodeName !== node.name;
    if (isElsewhere || !selects.matches(node.labels) || terms?.some((matches) => matches(node)) === false)
      return "leave";
    const untolerated = node.taints.filter(({ effect }) => effect === "NoExecute" || effect === "NoSchedule");
    const remaining = untolerated.filter((taint) => matching(taint) === undefined);
    if (remaining.length === 0) return "run";
    return remaining.some(({ effect }) => effect === "NoExecute") ? "leave" : "stay";
  };
}

/** Labels of Nodes may be compared as numbers, too. */
const COMPARISONS: { readonly [name: string]: LabelOperator } = { Gt: "gt", Lt: "lt" };

/** A term without requirements selects nothing, and neither does one that is not valid. */
function termTest({ matchExpressions = [], matchFields = [] }: Term): Test {
  if (matchExpressions.length === 0 && matchFields.length === 0) return () => false;
  const requirements = requirementsOf(matchExpressions);
  if (requirements === undefined) return () => false;
  const selects = compileLabelSelector(requirements);
  return ({ labels, name }) =>
    selects.matches(labels) &&
    matchFields.every(({ operator, values = [] }) => values.includes(name) === (operator === "In"));
}

function requirementsOf(expressions: readonly Expression[]): readonly LabelRequirement[] | undefined {
  try {
    return expressions.map(({ key = "", operator = "", values = [] }) =>
      newLabelRequirement(key, COMPARISONS[operator] ?? labelOperatorOf(operator), values),
    );
  } catch (error) {
    if (error instanceof SelectorError) return undefined;
    throw error;
  }
}
