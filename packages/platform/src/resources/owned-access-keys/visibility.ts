// Whose access keys a caller gets to see and touch: its own, those of its teams, and all where administrators say so.

import { expiredError, notFoundError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { uidPreconditionError } from "@postern/apiserver/registry/store/uid-precondition-error";
import { whenDone } from "@postern/apiserver/runtime/awaitable";
import { ownerOf } from "../../access-keys/access-key-owner.ts";
import { specOf } from "../../access-keys/secret-fields.ts";
import { createKeyOwnership, type KeyOwnershipDependencies } from "./key-ownership.ts";

const PLURAL = "ownedaccesskeys";

/** Other people's keys do not exist for who has no right to the same verb on `accesskeys` of the storage group. */
export function ownKeysOnly(
  storage: Required<ResourceStorage>,
  dependencies: KeyOwnershipDependencies,
): Required<ResourceStorage> {
  const { names, keys, directory } = dependencies;
  const ownership = createKeyOwnership(dependencies);
  const { managementGroup: group } = names;
  const absent = (name: string) => notFoundError({ group, resource: PLURAL }, name);

  return {
    ...storage,
    get: (context, namespace, name, options) =>
      whenDone(storage.get(context, namespace, name, options), (object) =>
        whenDone(ownership.mayTouch(context, name, ownership.ownerOf(object)), (may) => {
          if (!may) throw absent(name);
          return object;
        }),
      ),
    list: async (context, query) => storage.list(context, await ownership.select(context, query)),
    async watch(context, query, observer) {
      const teamsBefore = ownership.teamsOf(context);
      const watch = await storage.watch(context, await ownership.select(context, query), observer);
      // What comes into sight with a team is told by a new list, not by events.
      const change = directory.onChange(() => {
        if (ownership.teamsOf(context) === teamsBefore) return;
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
      if (known !== undefined && !(await ownership.mayTouch(context, name, known.owner))) {
        if (request.uid === undefined || request.uid === "") throw absent(name);
        // As the generic store answers to a uid that an absent object must have.
        throw uidPreconditionError({ group, plural: PLURAL }, { namespace, name }, request.uid, "");
      }
      const transform = async (current: KubeObject): Promise<KubeObject> => {
        if (!(await ownership.mayTouch(context, name, ownerOf(specOf(current))))) throw absent(name);
        return await request.transform(current);
      };
      return await storage.update(context, namespace, name, { ...request, transform }, options);
    },
    async delete(context, namespace, name, options) {
      const object = (await storage.get(context, namespace, name, { resourceVersion: "" })).decode();
      if (!(await ownership.mayTouch(context, name, ownerOf(specOf(object))))) throw absent(name);
      // A key of somebody else's that takes the name meanwhile is not deleted in its place.
      const uid = options.preconditions?.uid ?? object.metadata.uid ?? "";
      return await storage.delete(context, namespace, name, {
        ...options,
        preconditions: { ...options.preconditions, uid },
      });
    },
    deleteCollection: async (context, query, options) =>
      storage.deleteCollection(context, await ownership.select(context, query), options),
  };
}
