// `accesskeys` below users and teams: the keys that one of them owns.

import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { notFoundError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { Directory } from "../../directory/directory.ts";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import type { AccessKeyIndex } from "../index/access-key-index.ts";

export type AccessKeysSubresourceDeps = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly directory: Directory;
  /** The installed `ownedaccesskeys`. */
  readonly accessKeys: Pick<ControlledResource, "keys" | "view">;
  readonly owner: Exclude<AccessKeyOwner["kind"], "subject">;
};

const ITEMS = s
  .object({ accessKeys: s.list(s.anyObject()).describe("The keys, sorted by name. Their values are not shown.") })
  .describe("The access keys of a user or of a team.");

/** The authorizer decides who may get it: the user, members of the team, and callers that RBAC allows. */
export function accessKeysSubresource({
  names,
  keys,
  directory,
  accessKeys,
  owner,
}: AccessKeysSubresourceDeps): Subresource {
  const apiVersion = formatApiVersion({ group: names.managementGroup, version: "v1" });
  const kind = owner === "user" ? "UserAccessKeys" : "TeamAccessKeys";
  return {
    name: "accesskeys",
    kind: { group: names.managementGroup, version: "v1", kind },
    schema: kindSchema(ITEMS.schema),
    description: `The access keys that the ${owner} owns`,
    async get({ info: { name } }) {
      const holder = owner === "user" ? directory.user(name) : directory.team(name);
      if (holder === undefined) throw notFoundError({ group: names.managementGroup, resource: `${owner}s` }, name);
      await keys.whenRead();
      const found = keys
        .ownedBy({ kind: owner, name })
        .map((key) => accessKeys.view.get(accessKeys.keys.of("", key.name)))
        .filter((object) => object !== undefined)
        .map((object): JsonObject => object.decode())
        .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
      return { apiVersion, kind, metadata: { name }, accessKeys: found };
    },
  };
}

const nameOf = ({ metadata }: JsonObject): string => (metadata as { readonly name?: string }).name ?? "";
