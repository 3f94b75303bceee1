// The namespaces of projects: lookup, creation, and the status of the project.

import { type Condition, withCondition } from "@postern/api/conditions";
import type { PlatformNames } from "@postern/api/platform-names";
import type { Project, ProjectStatus } from "@postern/api/project";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, ControllerPort } from "@postern/apiserver/controllers/controller-port";

export type ProjectNamespaces = {
  nameOf(project: Project): string;
  /** Undefined if there is none. A namespace of no project, or of an earlier project, is not taken over. */
  find(project: Project): { readonly object: KubeObject; readonly state: NamespaceState } | undefined;
  create(project: Project, signal: AbortSignal): Promise<NamespaceState>;
};

export function createProjectNamespaces(
  port: Pick<ControllerPort, "runtime">,
  { names, namespaces }: { readonly names: PlatformNames; readonly namespaces: ControlledResource },
): ProjectNamespaces {
  const uidAnnotation = names.key("project-uid");

  const nameOf = ({ metadata: { name = "" } }: Project): string => names.projectNamespace(name);

  const stateOf = (namespace: KubeObject, { metadata: { uid } }: Project): NamespaceState => {
    if (namespace.metadata.annotations?.[uidAnnotation] !== uid) return "taken";
    return isBeingDeleted(namespace) ? "terminating" : "ready";
  };

  const find: ProjectNamespaces["find"] = (project) => {
    const object = namespaces.view.get(namespaces.keys.of("", nameOf(project)))?.decode();
    return object && { object, state: stateOf(object, project) };
  };

  return {
    nameOf,
    find,
    async create(project, signal) {
      const { name: projectName = "", uid = "" } = project.metadata;
      const namespace = {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: {
          name: nameOf(project),
          labels: { [names.key("project")]: projectName },
          annotations: { [uidAnnotation]: uid },
        },
      };
      try {
        await createControlled(port, namespaces, namespace, signal);
        return "ready";
      } catch (error) {
        // A namespace that the store holds and memory does not show yet was created or deleted just now.
        if (isApiError(error, "AlreadyExists")) return find(project)?.state ?? "terminating";
        throw error;
      }
    },
  };
}

/** For the create of a project. The resources that it needs are installed when a request has come. Returns a fault for people. */
export const createProjectNamespace =
  (
    port: Pick<ControllerPort, "runtime">,
    names: PlatformNames,
    namespaces: () => ControlledResource,
  ): ((project: Project, signal: AbortSignal) => Promise<string | undefined>) =>
  async (project, signal) => {
    const { nameOf, create } = createProjectNamespaces(port, { names, namespaces: namespaces() });
    return namespaceFault(nameOf(project), await create(project, signal));
  };

// The status of a project, from how its namespace is.

type NamespaceState = "ready" | "taken" | "terminating";

const PHASES = { ready: "Ready", taken: "Failed", terminating: "Pending" } as const;
const REASONS = { ready: "Created", taken: "NamespaceTaken", terminating: "NamespaceTerminating" } as const;

/** Reason that keeps a project from its namespace, for people; undefined when there is none. */
function namespaceFault(namespace: string, state: NamespaceState): string | undefined {
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
