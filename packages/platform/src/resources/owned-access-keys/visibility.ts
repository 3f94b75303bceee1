// Whose access keys a caller gets to see and touch: its own, those of its teams, and all where administrators say so.

import { conflictError, expiredError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import type { ResourceStorage, Selection } from "@postern/apiserver/registry/resource-storage";
import { ownerOf, ownerOfCaller, sameOwner } from "../../access-keys/access-key-owner.ts";
import type { AccessKeyOwner } from "../../access-keys/access-key-state.ts";
import type { PlatformContext } from "../../platform-context.ts";
import { specOf } from "./secret-fields.ts";

export type VisibilityDependencies = Pick<PlatformContext, "names" | "keys" | "directory" | "authorizer">;

/** Other people's keys do not exist for who has no right to the same verb on `accesskeys` of the storage group. */
export function ownKeysOnly(
  storage: Required<ResourceStorage>,
  dependencies: VisibilityDependencies,
): Required<ResourceStorage> {
  const { names, keys, directory } = dependencies;
  const absent = (name: string) => notFoundError({ group: names.managementGroup, resource: "ownedaccesskeys" }, name);

  /** As the generic store answers to a uid that an absent object must have. */
  const absentUid = (name: string, uid: string) =>
    conflictError(
      { group: names.managementGroup, resource: "ownedaccesskeys" },
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/${names.managementGroup}/ownedaccesskeys/${name}, ` +
        `ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: `,
    );

  const isOwn = ({ user }: RequestContext): ((owner: AccessKeyOwner | undefined) => boolean) => {
    const caller = ownerOfCaller(user, directory, names);
    return (owner) =>
      owner !== undefined &&
      (sameOwner(owner, caller) || (owner.kind === "team" && user.groups.includes(names.teamGroup(owner.name))));
  };

  const ownerOfObject = (object: CachedObject): AccessKeyOwner | undefined => {
    const known = keys.byName(object.key.slice(object.key.lastIndexOf("/") + 1));
    // The owner is one of the things whose change changes the revision of the known state.
    const isKnown = known !== undefined && known.revision <= object.revision;
    return isKnown ? known.owner : ownerOf(specOf(object.decode()));
  };

  const mayAll = (context: RequestContext, name: string): Promise<boolean> =>
    isAdministrator(context, name, dependencies);

  const select = async <Q extends Selection>(context: RequestContext, query: Q): Promise<Q> => {
    if (await mayAll(context, "")) return query;
    const own = isOwn(context);
    const { visible } = query;
    return { ...query, visible: (object) => own(ownerOfObject(object)) && visible?.(object) !== false };
  };

  const checkTouch = async (context: RequestContext, name: string, object: KubeObject): Promise<void> => {
    if (!isOwn(context)(ownerOf(specOf(object))) && !(await mayAll(context, name))) throw absent(name);
  };

  return {
    ...storage,
    async get(context, namespace, name, options) {
      const object = await storage.get(context, namespace, name, options);
      if (!isOwn(context)(ownerOfObject(object)) && !(await mayAll(context, name))) throw absent(name);
      return object;
    },
    list: async (context, query) => storage.list(context, await select(context, query)),
    async watch(context, query, observer) {
      const teamsBefore = teamNames(context);
      const watch = await storage.watch(context, await select(context, query), observer);
      // What comes into sight with a team is told by a new list, not by events.
      const change = directory.onChange(() => {
        if (teamNames(context) === teamsBefore) return;
        end();
        observer.error(expiredError("the teams of the user have changed, list again"));
      });
      const end = (): void => {
        change[Symbol.dispose]();
        watch[Symbol.dispose]();
      };
      return { [Symbol.dispose]: end };
    },
    async update(context, namespace, name, request, options) {
      // Before anything is said about a key that the caller must not know of, such as its uid.
      const known = keys.byName(name);
      if (known !== undefined && !isOwn(context)(known.owner) && !(await mayAll(context, name))) {
        throw request.uid === undefined || request.uid === "" ? absent(name) : absentUid(name, request.uid);
      }
      const transform = async (current: KubeObject): Promise<KubeObject> => {
        await checkTouch(context, name, current);
        return await request.transform(current);
      };
      return await storage.update(context, namespace, name, { ...request, transform }, options);
    },
    async delete(context, namespace, name, options) {
      const object = (await storage.get(context, namespace, name, { resourceVersion: "" })).decode();
      await checkTouch(context, name, object);
      // A key of somebody else's that takes the name meanwhile is not deleted in its place.
      const uid = options.preconditions?.uid ?? object.metadata.uid ?? "";
      return await storage.delete(context, namespace, name, {
        ...options,
        preconditions: { ...options.preconditions, uid },
      });
    },
    deleteCollection: async (context, query, options) =>
      storage.deleteCollection(context, await select(context, query), options),
  };

  function teamNames({ user }: RequestContext): string {
    const known = directory.userBySubject(user.name);
    return known === undefined
      ? ""
      : directory
          .teamsOf(known.name)
          .map(({ name }) => name)
          .join("\n");
  }
}

async function isAdministrator(
  { user, credential, info }: RequestContext,
  name: string,
  { authorizer, names }: VisibilityDependencies,
): Promise<boolean> {
  const { verdict } = await authorizer.authorize({
    user,
    credential,
    verb: info.verb,
    isResourceRequest: true,
    apiGroup: names.storageGroup,
    apiVersion: "v1",
    resource: "accesskeys",
    subresource: "",
    namespace: "",
    name,
    path: "",
  });
  return verdict === "allow";
}
