// Keeps the namespace of every project, and removes it with the project.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  createControlled,
  deleteControlled,
  passingOverRaces,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { PlatformNames } from "../../platform-names.ts";
import { hasFinalizer, withoutFinalizer } from "../../resources/finalizers.ts";
import type { Project, ProjectStatus } from "../../resources/projects/project.ts";
import { projectFinalizer } from "../../resources/projects/strategy.ts";
import { type NamespaceState, projectStatus } from "./project-status.ts";

export type ProjectControllerOptions = {
  readonly names: PlatformNames;
  readonly projects: ControlledResource;
  readonly namespaces: ControlledResource;
};

export function createProjectController(
  port: Omit<ControllerPort, "resources">,
  { names, projects, namespaces }: ProjectControllerOptions,
): Controller {
  const { clock, scheduler } = port.runtime;
  const finalizer = projectFinalizer(names);
  const uidAnnotation = names.key("project-uid");
  const queue = new WorkQueue(port, { name: "project", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // What is stored has gone through the schema of its kind.
    const project = projects.view.get(key)?.decode() as Project | undefined;
    if (project === undefined) return;
    await passingOverRaces(() => (isBeingDeleted(project) ? remove(project, signal) : keep(project, signal)));
  }

  async function keep(project: Project, signal: AbortSignal): Promise<void> {
    const name = names.projectNamespace(project.metadata.name ?? "");
    const state = stateOf(project, namespaceOf(name)) ?? (await createNamespace(project, name, signal));
    await writeStatus(project, projectStatus(project, name, state, clock.now()), signal);
  }

  /** Undefined when there is none. A namespace that belongs to nobody, or to an earlier project, is not taken over. */
  function stateOf(project: Project, namespace: KubeObject | undefined): NamespaceState | undefined {
    if (namespace === undefined) return undefined;
    if (!belongsTo(namespace, project)) return "taken";
    return isBeingDeleted(namespace) ? "terminating" : "ready";
  }

  const belongsTo = ({ metadata }: KubeObject, project: Project): boolean =>
    metadata.annotations?.[uidAnnotation] === project.metadata.uid;

  async function createNamespace(project: Project, name: string, signal: AbortSignal): Promise<NamespaceState> {
    const { name: projectName = "", uid = "" } = project.metadata;
    const namespace = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels: { [names.key("project")]: projectName }, annotations: { [uidAnnotation]: uid } },
    };
    try {
      await createControlled(port, namespaces, namespace, signal);
      return "ready";
    } catch (error) {
      if (isApiError(error, "AlreadyExists")) return stateOf(project, namespaceOf(name)) ?? "terminating";
      throw error;
    }
  }

  async function remove(project: Project, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(project, finalizer)) return;
    const name = names.projectNamespace(project.metadata.name ?? "");
    const namespace = namespaceOf(name);
    if (namespace !== undefined && belongsTo(namespace, project)) {
      await writeStatus(project, { ...project.status, phase: "Terminating" }, signal);
      if (!isBeingDeleted(namespace)) await deleteControlled(port, namespaces, namespace, signal);
      return;
    }
    await update(project, "", (current) => withoutFinalizer(current, finalizer), signal);
  }

  const writeStatus = (project: Project, status: NonNullable<ProjectStatus>, signal: AbortSignal): Promise<void> =>
    update(project, "status", (current) => ({ ...current, status }), signal);

  const update = (
    project: Project,
    subresource: string,
    transform: (current: KubeObject) => KubeObject,
    signal: AbortSignal,
  ): Promise<void> => updateControlled(port, projects, project, { subresource, transform }, signal);

  const namespaceOf = (name: string): KubeObject | undefined =>
    namespaces.view.get(namespaces.keys.of("", name))?.decode();

  const requeueProjectOf = (key: string): void => {
    const project = names.projectOf(namespaces.keys.parse(key).name);
    if (project !== undefined) queue.add(projects.keys.of("", project));
  };
  const following = [
    followKeys(projects, scheduler, (key) => queue.add(key)),
    followKeys(namespaces, scheduler, requeueProjectOf),
  ];
  return createQueueController(queue, following);
}
