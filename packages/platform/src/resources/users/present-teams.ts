// Shows every user with the teams it is in, which follow from the teams and are stored nowhere else.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { Condition } from "../../api/conditions.ts";
import type { User } from "../../api/user.ts";
import type { Directory } from "../../directory/directory.ts";

/** When that last changed nobody has written down. */
const readyCondition = (user: KubeObject): Condition =>
  // The store holds no other kind under this resource.
  (user as User).spec?.disabled === true
    ? { type: "Ready", status: "False", reason: "Disabled", message: "Every key of the user is refused" }
    : { type: "Ready", status: "True", reason: "Enabled", message: "" };

/** For the `present` of the resource. */
export const presentTeams =
  (directory: Directory) =>
  (object: CachedObject): CachedObject => {
    const user = object.decode();
    const teams = directory.teamsOf(user.metadata.name ?? "").map(({ name }) => name);
    const status = { ...(teams.length === 0 ? {} : { teams }), conditions: [readyCondition(user)] };
    return CachedObject.fromObject(object.key, { ...user, status });
  };
