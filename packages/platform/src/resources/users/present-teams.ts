// Shows every user with the teams it is in, which follow from the teams and are stored nowhere else.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import type { Directory } from "../../directory/directory.ts";
import type { Condition } from "../conditions.ts";
import type { User } from "./user.ts";

/** When that last changed nobody has written down. */
const readyCondition = (user: KubeObject): Condition =>
  // The store holds no other kind under this resource.
  (user as User).spec?.disabled === true
    ? { type: "Ready", status: "False", reason: "Disabled", message: "Every key of the user is refused" }
    : { type: "Ready", status: "True", reason: "Enabled", message: "" };

/** For the `decorate` of the resource. */
export function withTeams(storage: ResourceStorage, directory: Directory): ResourceStorage {
  const present = (object: CachedObject): CachedObject => {
    const user = object.decode();
    const teams = directory.teamsOf(user.metadata.name ?? "").map(({ name }) => name);
    const status = { ...(teams.length === 0 ? {} : { teams }), conditions: [readyCondition(user)] };
    return CachedObject.fromObject(object.key, { ...user, status });
  };
  const { get, list, watch, create, update, delete: remove, deleteCollection } = storage;
  return {
    ...(get && { get: async (...request) => present(await get(...request)) }),
    ...(list && {
      list: async (...request) => {
        const page = await list(...request);
        return { ...page, items: page.items.map(present) };
      },
    }),
    ...(watch && {
      watch: (context, query, observer) =>
        watch(context, query, {
          event: (type, object) => observer.event(type, present(object)),
          // One by one: what an observer has need not be its own, as spreading it would take for granted.
          initialEventsEnd: (resourceVersion) => observer.initialEventsEnd(resourceVersion),
          progress: (resourceVersion) => observer.progress(resourceVersion),
          error: (error) => observer.error(error),
        }),
    }),
    ...(create && { create: async (...request) => present(await create(...request)) }),
    ...(update && {
      update: async (...request) => {
        const { object, created } = await update(...request);
        return { object: present(object), created };
      },
    }),
    ...(remove && { delete: remove }),
    ...(deleteCollection && { deleteCollection }),
  };
}
