// Settings of embedded clusters, from their instances and projects, by the uid of the instance.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Project } from "@postern/api/project";
import { quotaOf } from "@postern/api/project-quotas";
import { templateOf, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { followingValues } from "../../../foundation/lookup/follow-values.ts";
import type { ClusterSettings } from "./embedded-cluster.ts";
import { DEFAULT_SHARE } from "./metered-storage.ts";

export type InstanceSettings = Disposable & {
  of(uid: string): ClusterSettings;
  /** Calls back after every change of instances and projects, until disposed. */
  onChange(listener: () => void): Disposable;
};

type Told = { readonly namespace: string; readonly workloads: string };

export function createInstanceSettings(
  { instances, projects }: { readonly instances: ViewPrefix; readonly projects: ViewPrefix },
  names: Pick<PlatformNames, "projectNamespace">,
  scheduler: Scheduler,
): InstanceSettings {
  const told = new Map<string, Told>();
  /** By the namespace of the project; only projects with quotas. */
  const shares = new Map<string, StoredAmount>();

  const ofInstances = followView(
    instances,
    scheduler,
    followingValues<VirtualClusterInstance, Told>(told, (instance) => [
      instance.metadata.uid ?? "",
      { namespace: instance.metadata.namespace ?? "", workloads: templateOf(instance)?.workloads ?? "" },
    ]),
  );
  const ofProjects = followView(
    projects,
    scheduler,
    followingValues<Project, StoredAmount>(shares, (project) => [
      names.projectNamespace(project.metadata.name ?? ""),
      shareOf(project),
    ]),
  );
  return {
    of(uid) {
      const { namespace = "", workloads = "" } = told.get(uid) ?? {};
      return {
        keepsWorkloads: workloads !== "",
        runsWorkloads: workloads === "controlled",
        completesJobs: workloads === "completed",
        share: shares.get(namespace) ?? DEFAULT_SHARE,
        project: namespace,
      };
    },
    onChange(listener) {
      const changed = { replace: listener, put: listener, delete: listener };
      // Behind those above, which know the change by then.
      const followed = [instances, projects].map((view) => followView(view, scheduler, changed));
      return {
        [Symbol.dispose]() {
          for (const each of followed) each[Symbol.dispose]();
        },
      };
    },
    [Symbol.dispose]() {
      ofInstances[Symbol.dispose]();
      ofProjects[Symbol.dispose]();
    },
  };
}

function shareOf(project: Project): StoredAmount | undefined {
  const objects = quotaOf(project, "project", "virtualcluster.objects");
  const bytes = quotaOf(project, "project", "virtualcluster.bytes");
  if (objects === undefined && bytes === undefined) return undefined;
  return { objects: objects ?? DEFAULT_SHARE.objects, bytes: bytes ?? DEFAULT_SHARE.bytes };
}
