// Maintains the namespace of every project, and deletes it with the project.

import { hasFinalizer, withoutFinalizer } from "@postern/api/finalizers";
import type { Project, ProjectStatus } from "@postern/api/project";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Foundation } from "../../../foundation/foundation.ts";
import { projectFinalizer } from "../kinds/projects/strategy.ts";
import { createProjectNamespaces } from "../project-namespaces.ts";
import { projectStatus } from "../project-status.ts";

export function createProjectController(
  port: Omit<ControllerPort, "resources">,
  { names, own, installed }: Pick<Foundation, "names" | "own" | "installed">,
): Controller {
  const [projects, namespaces] = [own("Project"), installed("", "Namespace")];
  const { clock, scheduler } = port.runtime;
  const finalizer = projectFinalizer(names);
  const projectNamespaces = createProjectNamespaces(port, { names, namespaces });
  const queue = new WorkQueue(port, { name: "project", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    // Stored objects have gone through the schema of their kind.
    const project = projects.view.get(key)?.decode() as Project | undefined;
    if (project === undefined) return;
    await ignoringConflicts(() => (isBeingDeleted(project) ? remove(project, signal) : keep(project, signal)));
  }

  async function keep(project: Project, signal: AbortSignal): Promise<void> {
    const state = projectNamespaces.find(project)?.state ?? (await projectNamespaces.create(project, signal));
    const name = projectNamespaces.nameOf(project);
    await writeStatus(project, (current) => projectStatus(current, name, state, clock.now()), signal);
  }

  async function remove(project: Project, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(project, finalizer)) return;
    const found = projectNamespaces.find(project);
    if (found !== undefined && found.state !== "taken") {
      await writeStatus(project, ({ status }) => ({ ...status, phase: "Terminating" }), signal);
      if (found.state === "ready") await deleteControlled(port, namespaces, found.object, signal);
      return;
    }
    await update(project, "", (current) => withoutFinalizer(current, finalizer), signal);
  }

  /** Other parts of the status belong to other controllers. */
  const writeStatus = (
    project: Project,
    statusOf: (current: Project) => NonNullable<ProjectStatus>,
    signal: AbortSignal,
  ): Promise<void> =>
    // Stored objects have gone through the schema of their kind.
    update(project, "status", (current) => ({ ...current, status: statusOf(current as Project) }), signal);

  const update = (
    project: Project,
    subresource: string,
    transform: (current: KubeObject) => KubeObject,
    signal: AbortSignal,
  ): Promise<void> => updateControlled(port, projects, project, { subresource, transform }, signal);

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
