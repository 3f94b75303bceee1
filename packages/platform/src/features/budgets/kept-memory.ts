// Estimates the memory that the server keeps of an object beside its bytes: roles, bindings, keys, definitions and policies are indexed or compiled,
// and labels and owners of every object may be (ADR 196).

import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { keptMemoryOfKey } from "../access-keys/index/owner-usage.ts";

type Kept = (object: CachedObject) => number;

/** Bytes for each string from a member of the object on, and for each byte of the object. */
const indexed = (member: string, string = 100, byte = 0, base = 0): Kept => {
  const from = Buffer.from(`"${member}":`);
  return (object) => base + string * object.stringsAfter(from) + byte * object.storedBytes;
};

const SPEC = indexed("spec");
/** Its ClusterProfile is kept in two forms, with the CA of the platform, labels and display name. */
const INSTANCES = indexed("spec", 100, 2, 4_000);
const RULES = indexed("rules", 50);
const SUBJECTS = indexed("subjects", 110);
const QUOTAS = indexed("spec", 140);
const WEBHOOKS = indexed("webhooks");
/** Expressions are compiled: each operator of a character or two becomes a node. */
const COMPILED = indexed("spec", 100, 16, 2_000);
/** A definition has routes, handlers and views. */
const DEFINITION = indexed("spec", 100, 4, 14_000);

/** By the name of the resource. One that a tenant defines with the same name is estimated too high. */
const KINDS: ReadonlyMap<string, Kept> = new Map([
  ["roles", RULES],
  ["clusterroles", RULES],
  ["rolebindings", SUBJECTS],
  ["clusterrolebindings", SUBJECTS],
  ["ownedaccesskeys", keptMemoryOfKey],
  ["users", SPEC],
  ["teams", SPEC],
  ["projects", SPEC],
  ["virtualclusterinstances", INSTANCES],
  ["spaceinstances", SPEC],
  ["trustrules", SPEC],
  ["clustertrustrules", SPEC],
  ["accesspolicies", COMPILED],
  ["clusteraccesspolicies", COMPILED],
  ["accessrequests", SPEC],
  ["kubeconfiggenerators", SPEC],
  ["resourcequotas", QUOTAS],
  ["limitranges", SPEC],
  ["validatingwebhookconfigurations", WEBHOOKS],
  ["mutatingwebhookconfigurations", WEBHOOKS],
  ["validatingadmissionpolicies", COMPILED],
  ["validatingadmissionpolicybindings", COMPILED],
  ["mutatingadmissionpolicies", COMPILED],
  ["mutatingadmissionpolicybindings", COMPILED],
  ["customresourcedefinitions", DEFINITION],
]);

/** A node of the graph of owners, for each reference. */
const OWNER_BYTES = 700;
/** An entry in an index of labels. */
const LABEL_BYTES = 120;

const OWNER_REFERENCES = Buffer.from('"ownerReferences":');
const LABELS = Buffer.from('"labels":');
const readLinks = createMemberReader({ metadata: { labels: true, ownerReferences: true } });

/** For the objects of the view with this prefix, `/registry/<composition>/<group>/<resource>/`. */
export const keptMemoryOf = (viewPrefix: string): Kept =>
  WITH_LINKS.get(viewPrefix.slice(viewPrefix.lastIndexOf("/", viewPrefix.length - 2) + 1, -1)) ?? linksOf;

function linksOf(object: CachedObject): number {
  if (!object.mayHave(OWNER_REFERENCES) && !object.mayHave(LABELS)) return 0;
  const { metadata } = object.read(readLinks);
  if (!isJsonObject(metadata)) return 0;
  const { labels, ownerReferences } = metadata;
  const owners = isJsonArray(ownerReferences) ? ownerReferences.length : 0;
  return owners * OWNER_BYTES + (isJsonObject(labels) ? Object.keys(labels).length * LABEL_BYTES : 0);
}

/** Each write asks for one of them. */
const WITH_LINKS: ReadonlyMap<string, Kept> = new Map(
  [...KINDS].map(([resource, kept]) => [resource, (object: CachedObject) => linksOf(object) + kept(object)]),
);
