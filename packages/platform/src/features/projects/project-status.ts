// The status of a project, derived from its namespace.

import { type Condition, withCondition } from "@postern/api/conditions";
import type { Project, ProjectStatus } from "@postern/api/project";

export type NamespaceState = "ready" | "taken" | "terminating";

const PHASES = { ready: "Ready", taken: "Failed", terminating: "Pending" } as const;
const REASONS = { ready: "Created", taken: "NamespaceTaken", terminating: "NamespaceTerminating" } as const;

/** Reason that keeps a project from its namespace, for people; undefined when there is none. */
export function namespaceFault(namespace: string, state: NamespaceState): string | undefined {
  switch (state) {
    case "ready":
      return undefined;
    case "taken":
      return `namespace ${namespace} already exists and does not belong to this project`;
    case "terminating":
      return `namespace ${namespace} is being deleted, and will be created again`;
  }
}

/** `now` in milliseconds. */
export function projectStatus(
  { status }: Project,
  namespace: string,
  state: NamespaceState,
  now: number,
): NonNullable<ProjectStatus> {
  const message = namespaceFault(namespace, state) ?? "";
  const condition = { holds: state === "ready", reason: REASONS[state], message };
  const { message: _before, ...kept } = status ?? {};
  return {
    ...kept,
    phase: PHASES[state],
    ...(message === "" ? {} : { message }),
    // The namespace is all that a project needs to be ready.
    conditions: ["NamespaceReady", "Ready"].reduce(
      (conditions: readonly Condition[], type) => withCondition(conditions, { type, ...condition }, now),
      kept.conditions ?? [],
    ),
  };
}
