// The namespaces of projects: lookup and creation.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Project } from "@postern/api/project";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createControlled, readControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { type NamespaceState, namespaceFault } from "./project-status.ts";

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
        if (!isApiError(error, "AlreadyExists")) throw error;
        // Another server or thread may have created it just now, which memory does not show yet.
        const existing = await readControlled(port, namespaces, namespace, signal);
        return existing === undefined ? "terminating" : stateOf(existing, project);
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
