// How Tables show the state of a pod: what its containers wait for, how many are ready, how often they began anew.
// Source: k8s.io/kubernetes/pkg/printers/internalversion/printers.go (printPod)

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { humanDuration } from "@postern/apimachinery/time/human-duration";
import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";
import { ageColumn } from "../../builtin-resource.ts";
import { listAt, numberAt, objectAt, optionalObjectAt, textAt } from "../json-members.ts";

type PodState = { readonly reason: string; readonly ready: string; readonly restarts: string };

const holds = (status: JsonValue, type: string): boolean =>
  listAt(status, "conditions").some((each) => textAt(each, "type") === type && textAt(each, "status") === "True");

const isSidecar = (container: JsonValue | undefined): boolean =>
  container !== undefined && textAt(container, "restartPolicy") === "Always";

/** Restarts, and when the last container ended before one. */
class Restarts {
  count = 0;
  #last = 0;

  add(container: JsonValue): void {
    this.count += numberAt(container, "restartCount") ?? 0;
    const ended = textAt(objectAt(objectAt(container, "lastState"), "terminated"), "finishedAt");
    if (ended !== "") this.#last = Math.max(this.#last, Date.parse(ended));
  }

  text(now: number): string {
    return this.count === 0 || this.#last === 0
      ? `${this.count}`
      : `${this.count} (${humanDuration(now - this.#last)} ago)`;
  }
}

function endOf(terminated: JsonObject): string {
  const [reason, signal] = [textAt(terminated, "reason"), numberAt(terminated, "signal") ?? 0];
  if (reason !== "") return reason;
  return signal === 0 ? `ExitCode:${numberAt(terminated, "exitCode") ?? 0}` : `Signal:${signal}`;
}

/** Undefined: the init container has done its part. */
function initReason(container: JsonValue, sidecar: boolean, position: string): string | undefined {
  const [terminated, waiting] = ["terminated", "waiting"].map((name) =>
    optionalObjectAt(objectAt(container, "state"), name),
  );
  if (terminated !== undefined && (numberAt(terminated, "exitCode") ?? 0) === 0) return undefined;
  if (sidecar && (container as JsonObject)["started"] === true) return undefined;
  if (terminated !== undefined) return `Init:${endOf(terminated)}`;
  const why = textAt(waiting ?? {}, "reason");
  return `Init:${why === "" || why === "PodInitializing" ? position : why}`;
}

function stateOf(pod: KubeObject, now: number): PodState {
  const { spec = {}, status = {} } = pod as KubeObject & { readonly spec?: JsonObject; readonly status?: JsonObject };
  const inits = listAt(spec, "initContainers");
  const total = listAt(spec, "containers").length + inits.filter(isSidecar).length;
  const phase = textAt(status, "phase");
  let reason = textAt(status, "reason") || phase;
  if (
    listAt(status, "conditions").some(
      (each) => textAt(each, "type") === "PodScheduled" && textAt(each, "reason") === "SchedulingGated",
    )
  )
    reason = "SchedulingGated";
  let ready = 0;
  let restarts = new Restarts();
  const ofSidecars = new Restarts();
  let isInitializing = false;
  for (const [index, container] of listAt(status, "initContainerStatuses").entries()) {
    const sidecar = isSidecar(inits.find((each) => textAt(each, "name") === textAt(container, "name")));
    restarts.add(container);
    if (sidecar) ofSidecars.add(container);
    const waits = initReason(container, sidecar, `${index}/${inits.length}`);
    if (waits === undefined) {
      const { started, ready: isReady } = container as JsonObject;
      if (sidecar && started === true && isReady === true) ready++;
      continue;
    }
    reason = waits;
    isInitializing = true;
    break;
  }
  if (!isInitializing || holds(status, "Initialized")) {
    restarts = ofSidecars;
    let isRunning = false;
    for (const container of listAt(status, "containerStatuses").toReversed()) {
      restarts.add(container);
      const [waiting, terminated, running] = ["waiting", "terminated", "running"].map((name) =>
        optionalObjectAt(objectAt(container, "state"), name),
      );
      const why = textAt(waiting ?? {}, "reason");
      if (why !== "") reason = why;
      else if (terminated !== undefined) reason = endOf(terminated);
      else if (running !== undefined && (container as JsonObject)["ready"] === true) {
        isRunning = true;
        ready++;
      }
    }
    if (reason === "Completed" && isRunning) reason = holds(status, "Ready") ? "Running" : "NotReady";
  }
  if (isBeingDeleted(pod)) {
    if (textAt(status, "reason") === "NodeLost") reason = "Unknown";
    else if (phase !== "Succeeded" && phase !== "Failed") reason = "Terminating";
  }
  return { reason, ready: `${ready}/${total}`, restarts: restarts.text(now) };
}

const orNone = (text: string): string => (text === "" ? "<none>" : text);

function gatesOf(pod: KubeObject): string {
  const { spec = {}, status = {} } = pod as KubeObject & { readonly spec?: JsonObject; readonly status?: JsonObject };
  const gates = listAt(spec, "readinessGates");
  return gates.length === 0
    ? "<none>"
    : `${gates.filter((gate) => holds(status, textAt(gate, "conditionType"))).length}/${gates.length}`;
}

const wide = (name: string, value: PrinterColumn["value"]): PrinterColumn => ({
  name,
  type: "string",
  value,
});
const memberOf = (pod: KubeObject, part: string, name: string): string => orNone(textAt(objectAt(pod, part), name));

export const podTableColumns: readonly PrinterColumn[] = [
  {
    name: "Ready",
    type: "string",
    value: (o, now) => stateOf(o, now).ready,
  },
  {
    name: "Status",
    type: "string",
    value: (o, now) => stateOf(o, now).reason,
  },
  {
    name: "Restarts",
    type: "string",
    value: (o, now) => stateOf(o, now).restarts,
  },
  ageColumn,
  wide("IP", (o) => memberOf(o, "status", "podIP")),
  wide("Node", (o) => memberOf(o, "spec", "nodeName")),
  wide("Nominated Node", (o) => memberOf(o, "status", "nominatedNodeName")),
  wide("Readiness Gates", gatesOf),
];
