// The status of a project, from how its namespace is.

import { withCondition } from "../../resources/conditions.ts";
import type { Project, ProjectStatus } from "../../resources/projects/project.ts";

export type NamespaceState = "ready" | "taken" | "terminating";

const PHASES = { ready: "Ready", taken: "Failed", terminating: "Pending" } as const;
const REASONS = { ready: "Created", taken: "NamespaceTaken", terminating: "NamespaceTerminating" } as const;

/** `now` in milliseconds. */
export function projectStatus(
  { status }: Project,
  namespace: string,
  state: NamespaceState,
  now: number,
): NonNullable<ProjectStatus> {
  const message = {
    ready: "",
    taken: `namespace ${namespace} exists already and does not belong to this project`,
    terminating: `namespace ${namespace} is being deleted, and will be made again`,
  }[state];
  const condition = { type: "NamespaceReady", holds: state === "ready", reason: REASONS[state], message };
  const { message: _before, ...kept } = status ?? {};
  return {
    ...kept,
    phase: PHASES[state],
    ...(message === "" ? {} : { message }),
    conditions: withCondition(kept.conditions ?? [], condition, now),
  };
}
