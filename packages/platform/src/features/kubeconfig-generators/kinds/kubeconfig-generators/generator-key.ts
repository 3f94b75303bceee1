// The access key of a generator: its credentials are created with it, as their creator's and within the limits of the key that the creator used.

import type { AccessKeySpec, OwnedAccessKey } from "@postern/api/owned-access-key";
import type { RequestContext, WarningRecorder } from "@postern/apiserver/context/request-context";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { Foundation } from "../../../../foundation/foundation.ts";
import type { AccessKeyOwner } from "../../../access-keys/access-key-owner.ts";
import type { AccessKeyState } from "../../../access-keys/access-key-state.ts";
import type { AccessKeyIndex } from "../../../access-keys/index/access-key-index.ts";
import {
  keyOfRequest,
  type LineageDeps,
  passesItsEndOn,
} from "../../../access-keys/kinds/owned-access-keys/lineage.ts";

export type GeneratorKeyDeps = Pick<Foundation, "names" | "configuration"> & {
  readonly keys: AccessKeyIndex;
  /** `ownedaccesskeys`. */
  readonly accessKeys: () => Pick<InstalledResource, "genericStore" | "view" | "keys" | "definition">;
};

const PREFIX = "generator-";

/** A name that cannot be guessed: the keys that a generator makes have a key of this name as their parent. */
export const generatorKeyName = (id: () => string): string => `${PREFIX}${id()}${id()}`;

export const isGeneratorKeyName = (name: string): boolean => name.startsWith(PREFIX);

/** Warnings about a key name fields of the key, of which the caller has written none. */
const UNWRITTEN: WarningRecorder = { texts: [], add: () => undefined };

const lineage = ({ keys, configuration }: GeneratorKeyDeps): LineageDeps => ({ keys, configuration });

/** Whether what is created with the key has its limits, or ends with it. */
export const isLimited = (key: AccessKeyState, deps: GeneratorKeyDeps): boolean =>
  key.restrictions !== undefined || key.parentUids.length > 0 || passesItsEndOn(key, lineage(deps));

/** Creates the key in the name of the caller: all that holds for a key that it creates itself holds for this one. Its value is thrown away. */
export async function createGeneratorKey(
  { name, owner, displayName }: { readonly name: string; readonly owner: AccessKeyOwner; readonly displayName: string },
  context: RequestContext,
  deps: GeneratorKeyDeps,
): Promise<void> {
  const maker = keyOfRequest(context, deps.keys);
  const { definition, genericStore } = deps.accessKeys();
  const { group, version, kind, plural } = definition;
  const info = {
    ...context.info,
    ...{ verb: "create", apiGroup: group, apiVersion: version, resource: plural, subresource: "", namespace: "", name },
  };
  const spec = {
    ...(maker === undefined ? {} : limitsOf(maker, deps)),
    displayName,
    [owner.kind]: owner.name,
    type: "Other",
  };
  const object = { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec };
  await genericStore.create(context.with({ info, warnings: UNWRITTEN }), "", object, { dryRun: false });
}

/** A key has no more than the one that it is created with: both have the same scope, rules and groups. */
function limitsOf({ name, restrictions, groups }: AccessKeyState, deps: GeneratorKeyDeps): Partial<AccessKeySpec> {
  const own = groups.length === 0 ? {} : { groups: [...groups] };
  if (restrictions === undefined) return own;
  const { view, keys } = deps.accessKeys();
  // The store holds no other kind under this resource.
  const { scope, rules } = (view.get(keys.of("", name))?.decode() as OwnedAccessKey | undefined)?.spec ?? {};
  return { ...own, ...(scope === undefined ? {} : { scope }), ...(rules === undefined ? {} : { rules }) };
}
