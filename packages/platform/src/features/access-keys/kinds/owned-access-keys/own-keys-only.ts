// Limits a caller to the access keys that it may see and change: its own, those of its teams, and those that its permissions on `accesskeys` open.

import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ownerOf } from "../../access-key-owner.ts";
import { specOf } from "../../chosen-values/secret-fields.ts";
import { createKeyOwnership, type KeyOwnershipDeps } from "./key-ownership.ts";

/** Keys of other users are hidden from callers without a permission for the same verb on `accesskeys` of the storage group. */
export function ownKeysOnly(dependencies: KeyOwnershipDeps): ObjectVisibility {
  const { directory } = dependencies;
  const ownership = createKeyOwnership(dependencies);
  return {
    visibleTo: (context) => ownership.visibleTo(context),
    async follow(context, end) {
      const teamsBefore = ownership.teamsOf(context);
      const visible = await ownership.visibleTo(context);
      // Objects that become visible with a team appear in a new list, not as events.
      const change = directory.onChange(() => {
        if (ownership.teamsOf(context) !== teamsBefore) {
          end(expiredError("the teams of the user have changed, list again"));
        }
      });
      return { visible, holds: () => true, [Symbol.dispose]: () => change[Symbol.dispose]() };
    },
    mayGet: (context, object) => ownership.mayTouch(context, nameOf(object.key), ownership.ownerOf(object)),
    mayChange: (context, object) => ownership.mayTouch(context, object.metadata.name ?? "", ownerOf(specOf(object))),
  };
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf("/") + 1);
