// Selves: the identity of the caller. For the login of existing clients, and for virtual clusters that check keys.

import type { PlatformNames } from "@postern/api/platform-names";
import { hostField, type Self, selfSchema } from "@postern/api/self";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { reviewResponse } from "@postern/kubernetes/builtin/review-response";
import { mayDo } from "../../../../foundation/kinds/may-do.ts";
import type { AccessKeyOwner } from "../../../access-keys/access-key-owner.ts";
import { ownerOfCaller } from "../../../access-keys/access-key-owner.ts";
import { keyNotFoundError } from "../../../access-keys/access-key-refusal.ts";
import type { AccessKeyState } from "../../../access-keys/access-key-state.ts";
import type { GuessRateLimit } from "../../../access-keys/chosen-values/guess-rate-limit.ts";
import type { AccessKeyIndex } from "../../../access-keys/index/access-key-index.ts";
import { isBoundToSources } from "../../../access-keys/key-sources.ts";
import type { AccessKeySecrets } from "../../../access-keys/secrets/access-key-secrets.ts";
import { isForAsker } from "../../../authorization/inside/review-guard.ts";
import { INTROSPECT_VERB } from "../../../authorization/request/asks-about-others.ts";
import type { Directory } from "../../directory.ts";

export type SelvesDeps = {
  readonly names: PlatformNames;
  readonly keys: AccessKeyIndex;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
  readonly secrets: Pick<AccessKeySecrets, "digestsOf" | "isAmong">;
  readonly comparisons: GuessRateLimit;
  /** Whether keys without audiences are for the platform alone. */
  readonly requireAudience: boolean;
  /** Identity that a key gives to its bearer. */
  readonly identityOf: (key: AccessKeyState) => UserInfo;
  /** The installed `ownedaccesskeys`. */
  readonly accessKeys: Pick<ControlledResource, "keys" | "view">;
};

export const selves = (deps: SelvesDeps): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "Self",
    plural: "selves",
    namespaced: false,
    schema: selfSchema(deps.names.name),
    async submit(context, body) {
      // The schema has checked the shape.
      const { spec = {} } = body as Self;
      const asked = spec.accessKey ?? "";
      const status = asked === "" ? ownStatus(context, deps) : await statusOfKey(asked, context, deps);
      // The key that was asked about is not sent back.
      return reviewResponse({ ...body, spec: {} }, status);
    },
  });

function ownStatus(context: RequestContext, deps: SelvesDeps): JsonObject {
  const { user, credential } = context;
  const { names, keys, directory } = deps;
  const key = credential === undefined ? undefined : keys.byId(credential.id);
  return statusOf(user, ownerOfCaller(user, directory, names), key, context, deps);
}

async function statusOfKey(presented: string, context: RequestContext, deps: SelvesDeps): Promise<JsonObject> {
  const { keys, identityOf, comparisons } = deps;
  // Every caller may ask about the key of its own request.
  const isOwn = isPresented(presented, context, deps);
  const look = async () => {
    const found = keys.find(presented);
    if (found === undefined) return { key: found, refusal: "is unknown" };
    // The request does not say where the bearer is.
    if (!isOwn && isBoundToSources(found, deps.directory))
      return { key: found, refusal: "is bound to source addresses" };
    if (!isOwn && found.confirmation !== "") return { key: found, refusal: "is bound to its client" };
    if (!isOwn && found.maxUses !== undefined)
      return { key: found, refusal: "authenticates a limited number of requests" };
    const isForOthers = !isOwn && !isForAsker(found.audiences, context.user, [], deps);
    return { key: found, refusal: isForOthers ? "is for other audiences" : keys.refusalOf(found) };
  };
  if (!isOwn) await checkMayIntrospect(context, deps);
  const { key, refusal } = isOwn
    ? await look()
    : await comparisons.ask(context, presented, look, (found) => found.refusal === undefined);
  if (key === undefined || refusal !== undefined)
    throw keyNotFoundError(`the access key in spec.accessKey: ${refusal}`, key?.id);
  return statusOf(identityOf(key), key.owner, key, context, deps);
}

/** Whether a value is that of the request's own key. Compared with that one only: callers that may not ask about other keys learn nothing about them. */
function isPresented(value: string, { credential }: RequestContext, { keys, secrets }: SelvesDeps): boolean {
  const own = credential === undefined ? undefined : keys.byId(credential.id)?.kept;
  return own !== undefined && secrets.isAmong(own, secrets.digestsOf(value));
}

async function checkMayIntrospect(context: RequestContext, { names, authorizer }: SelvesDeps): Promise<void> {
  const action = { verb: INTROSPECT_VERB, apiGroup: names.managementGroup, resource: "selves" };
  if (await mayDo(context, action, authorizer)) return;
  throw forbiddenRequestError(
    { group: names.managementGroup, resource: "selves" },
    "",
    "looking up other access keys requires a key with the role vcluster or agent, or the verb introspect on selves",
  );
}

function statusOf(
  { name, uid, groups }: UserInfo,
  owner: AccessKeyOwner,
  key: AccessKeyState | undefined,
  { request }: RequestContext,
  deps: SelvesDeps,
): JsonObject {
  const { names } = deps;
  return {
    ...holderOf(owner, deps),
    ...(key === undefined
      ? {}
      : { accessKey: key.name, accessKeyType: key.type, ...endOf(key), ...scopeOf(key, deps) }),
    subject: name,
    ...(uid === undefined ? {} : { uid }),
    groups,
    [hostField(names.name)]: request.host,
    projectNamespacePrefix: names.projectNamespacePrefix,
  };
}

function holderOf(owner: AccessKeyOwner, { directory }: SelvesDeps): JsonObject {
  if (owner.kind === "team") {
    return { team: { name: owner.name, displayName: directory.team(owner.name)?.displayName ?? "" } };
  }
  const user = owner.kind === "user" ? directory.user(owner.name) : undefined;
  if (user === undefined) return {};
  const { name, username, displayName, email, subject } = user;
  const teams = directory.teamsOf(name).map((team) => ({ name: team.name, displayName: team.displayName }));
  return { user: { name, username, displayName, email, subject, ...(teams.length === 0 ? {} : { teams }) } };
}

/** A narrowed key may not read its own record, and has to know when to ask for another. */
const endOf = ({ expiresAt }: AccessKeyState): JsonObject =>
  expiresAt === undefined ? {} : { accessKeyExpirationTimestamp: formatTimestamp(expiresAt) };

/** As it is written, so that clients find the form they know. */
function scopeOf(key: AccessKeyState, { accessKeys }: SelvesDeps): JsonObject {
  if (key.restrictions === undefined) return {};
  const spec = accessKeys.view.get(accessKeys.keys.of("", key.name))?.decode()["spec"];
  const scope = isJsonObject(spec) ? spec["scope"] : undefined;
  return isJsonObject(scope) ? { accessKeyScope: scope } : {};
}
