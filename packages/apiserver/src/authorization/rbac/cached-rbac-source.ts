// Keeps the RBAC index equal to the roles and bindings in the watch cache.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { followView, type ViewPrefix } from "../../cache/view-informer.ts";
import type { Scheduler } from "../../runtime/clock.ts";
import { readPolicyRules } from "./policy-rule.ts";
import { RbacIndex } from "./rbac-index.ts";
import type { RbacSource } from "./rbac-source.ts";
import { readBinding } from "./role-binding.ts";

export type RbacViews = {
  readonly roles: ViewPrefix;
  readonly roleBindings: ViewPrefix;
  readonly clusterRoles: ViewPrefix;
  readonly clusterRoleBindings: ViewPrefix;
};

/** Reads the cache as it is now, and every change of it from then on, until disposed. The cache must be ready. */
export function createCachedRbacSource(views: RbacViews, scheduler: Scheduler): RbacSource & Disposable {
  const index = new RbacIndex();

  const followRoles = (view: ViewPrefix, scope: "cluster" | "namespaces"): Disposable =>
    followObjects(view, scheduler, {
      clear: () => index.clearRoles(scope),
      set: ({ metadata, ...role }) => {
        index.setRole(metadata.namespace ?? "", metadata.name ?? "", readPolicyRules(role["rules"]));
      },
      remove: (namespace, name) => index.removeRole(namespace, name),
    });
  const followBindings = (view: ViewPrefix, scope: "cluster" | "namespaces"): Disposable =>
    followObjects(view, scheduler, {
      clear: () => index.clearBindings(scope),
      set: (object) => index.setBinding(readBinding(object)),
      remove: (namespace, name) => index.removeBinding(namespace, name),
    });

  // Roles first: a binding that is known before its role would be reported as dangling.
  const followed = [
    followRoles(views.clusterRoles, "cluster"),
    followRoles(views.roles, "namespaces"),
    followBindings(views.clusterRoleBindings, "cluster"),
    followBindings(views.roleBindings, "namespaces"),
  ];

  return Object.assign(index, {
    [Symbol.dispose]() {
      for (const handle of followed) handle[Symbol.dispose]();
    },
  });
}

type ObjectSink = {
  clear(): void;
  set(object: KubeObject): void;
  remove(namespace: string, name: string): void;
};

function followObjects(view: ViewPrefix, scheduler: Scheduler, sink: ObjectSink): Disposable {
  return followView(view, scheduler, {
    replace(objects) {
      sink.clear();
      for (const object of objects) sink.set(object.decode());
    },
    put: (object) => sink.set(object.decode()),
    delete(object) {
      const { metadata } = object.decode();
      sink.remove(metadata.namespace ?? "", metadata.name ?? "");
    },
  });
}
