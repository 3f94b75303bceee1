// The state of pods in Tables, as upstream's printer has it.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { expect, test } from "vitest";
import { podTableColumns } from "./pod-columns.ts";

const NOW = Date.parse("2026-01-02T03:10:00Z");
const cells = (pod: object, names: readonly string[]) =>
  names.map((name) => {
    const value = podTableColumns.find((column) => column.name === name)?.value;
    return typeof value === "function" ? value({ metadata: {}, ...pod } as KubeObject, NOW) : value;
  });
const spec = {
  initContainers: [{ name: "sidecar", restartPolicy: "Always" }, { name: "init" }],
  containers: [{ name: "a" }, { name: "b" }],
};
const running = (name: string, rest: object = {}) => ({ name, ready: true, state: { running: {} }, ...rest });
const sidecar = running("sidecar", { started: true, restartCount: 1 });
const done = { name: "init", state: { terminated: { exitCode: 0 } } };
const ended = (terminated: object) => ({ name: "a", restartCount: 2, state: { terminated } });

test.each<[string, object, readonly string[]]>([
  ["a new one", { phase: "Pending" }, ["0/3", "Pending", "0"]],
  ["one that has a reason", { phase: "Failed", reason: "Evicted" }, ["0/3", "Evicted", "0"]],
  [
    "a gate",
    { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] },
    ["0/3", "SchedulingGated", "0"],
  ],
  [
    "an init container that works",
    { phase: "Pending", initContainerStatuses: [sidecar, { name: "init", state: { running: {} } }] },
    ["1/3", "Init:1/2", "1"],
  ],
  [
    "an init container that failed",
    { phase: "Pending", initContainerStatuses: [sidecar, { name: "init", state: { terminated: { exitCode: 3 } } }] },
    ["1/3", "Init:ExitCode:3", "1"],
  ],
  [
    "an init container that waits",
    { initContainerStatuses: [sidecar, { name: "init", state: { waiting: { reason: "ErrImagePull" } } }] },
    ["1/3", "Init:ErrImagePull", "1"],
  ],
  [
    "all run",
    { phase: "Running", initContainerStatuses: [sidecar, done], containerStatuses: [running("a"), running("b")] },
    ["3/3", "Running", "1"],
  ],
  [
    "one ended",
    {
      phase: "Running",
      initContainerStatuses: [sidecar, done],
      containerStatuses: [ended({ reason: "Completed", exitCode: 0 }), running("b")],
    },
    ["2/3", "NotReady", "3"],
  ],
  ["a signal", { phase: "Failed", containerStatuses: [ended({ signal: 9, exitCode: 137 })] }, ["0/3", "Signal:9", "2"]],
  [
    "a restart before",
    {
      phase: "Running",
      containerStatuses: [
        { ...running("a", { restartCount: 4 }), lastState: { terminated: { finishedAt: "2026-01-02T03:05:00Z" } } },
      ],
    },
    ["1/3", "Running", "4 (5m ago)"],
  ],
])("%s", (_, status, expected) => {
  expect(cells({ spec, status }, ["Ready", "Status", "Restarts"])).toEqual(expected);
});

test("one that is being deleted is terminating, unless it has ended or its node is lost", () => {
  const metadata = { deletionTimestamp: "2026-01-02T03:05:00Z" };
  const shown = (status: object) => cells({ metadata, spec, status }, ["Status"]);
  expect([{ phase: "Running" }, { phase: "Succeeded" }, { phase: "Running", reason: "NodeLost" }].map(shown)).toEqual([
    ["Terminating"],
    ["Succeeded"],
    ["Unknown"],
  ]);
});

test("readiness gates are counted", () => {
  const readinessGates = [{ conditionType: "example.com/a" }, { conditionType: "example.com/b" }];
  const conditions = [{ type: "example.com/a", status: "True" }];
  expect(cells({ spec: { readinessGates }, status: { conditions } }, ["Readiness Gates", "Node"])).toEqual([
    "1/2",
    "<none>",
  ]);
});
