// Refreshes login sessions: asks the provider with the refresh token, stores the answer, and ends the session if the provider refuses.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createScans } from "@postern/apiserver/controllers/scans";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import type { KeyGrant } from "../../access-keys/key-grant.ts";
import { readSealedAccessKey } from "../../access-keys/record/sealed-access-key.ts";
import { openSecret } from "../../access-keys/record/secret-envelope.ts";
import type { AccessKeySecrets } from "../../access-keys/secrets/access-key-secrets.ts";
import type { IdentityProviders } from "../providers/identity-provider-index.ts";
import { mapClaims, SignInRefusal } from "../providers/map-claims.ts";
import type { ProviderClient } from "../providers/provider-client.ts";
import { ProviderError, ProviderRefusal } from "../providers/provider-faults.ts";
import { type IdentityProviderState, PROVIDER_PREFIX } from "../providers/provider-state.ts";
import { identityFields } from "../sessions/login-keys.ts";
import type { SignInUsers } from "../sign-in-users.ts";

const PLACE = "spec.identity.connectorData";
/** Only objects with this member have a session: the many keys of machines are neither parsed nor queued. */
const ENVELOPE = Buffer.from(`"${PLACE}":`);
const RETRY_MS = 30_000;

export function createLoginSessions(deps: {
  readonly port: Omit<ControllerPort, "resources">;
  /** The installed `ownedaccesskeys`. */
  readonly accessKeys: ControlledResource;
  readonly providers: IdentityProviders;
  readonly client: Pick<ProviderClient, "refresh">;
  readonly users: Pick<SignInUsers, "keep">;
  readonly secrets: AccessKeySecrets;
  readonly isReserved: (name: string) => boolean;
  /** Deletes the key of a session, and with it everything that was created with it. */
  readonly revoke: (name: string, signal: AbortSignal) => Promise<void>;
}): Controller {
  const { port, accessKeys, providers, client, users, secrets, isReserved, revoke } = deps;
  const { clock, scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: "login_session", process, laneOf });

  /** Its provider: one that does not answer leaves the others their places. */
  function laneOf(key: string): string {
    const record = accessKeys.view.get(key);
    return record?.hasSealed(ENVELOPE) === true ? (readSealedAccessKey(record.decodeSealed()).grant?.rule ?? "") : "";
  }

  /** By key of the record: the refresh that it names, and when that was in elapsed time, since the time of day may be set. */
  const refreshes = new Map<string, { readonly named: string; readonly at: number }>();

  /** Milliseconds since the refresh that a record names, which were measured as far as they passed here. */
  const sinceRefresh = (key: string, named: string): number => {
    const known = refreshes.get(key);
    if (known?.named === named) return clock.elapsed() - known.at;
    const age = Math.max(0, clock.now() - (parseTimestamp(named) ?? 0));
    refreshes.set(key, { named, at: clock.elapsed() - age });
    return age;
  };

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const record = accessKeys.view.get(key);
    if (record === undefined) return void refreshes.delete(key);
    const { grant, secrets: envelopes } = readSealedAccessKey(record.decodeSealed());
    const object = asKey(record.decode());
    const { name = "", uid = "" } = object.metadata;
    const envelope = envelopes[PLACE];
    const provider = grant?.login && providers.get(grant.rule.slice(PROVIDER_PREFIX.length));
    // Without a refresh token there is nothing to ask with; of a provider that is gone or another one, the key opens nothing.
    if (grant?.login === undefined || envelope === undefined || provider === undefined || isOver(grant, provider))
      return;
    const named = object.spec?.identity?.identityRefresh ?? "";
    const wait = provider.refreshSeconds * 1000 - sinceRefresh(key, named);
    if (wait > 0) return queue.addAfter(key, wait);
    const refreshToken = refreshTokenIn(openSecret(secrets, PLACE, uid, envelope));
    if (refreshToken === undefined) return await revoke(name, signal);
    try {
      await refresh(object, provider, refreshToken, grant.login.sub, signal);
      queue.addAfter(key, provider.refreshSeconds * 1000);
    } catch (error) {
      const isNo = error instanceof ProviderRefusal || error instanceof SignInRefusal;
      const isStale = sinceRefresh(key, named) > provider.staleSeconds * 1000;
      if (isNo || (error instanceof ProviderError && isStale)) return await revoke(name, signal);
      if (!(error instanceof ProviderError)) throw error;
      port.onError(error, `identity provider ${provider.name}`);
      queue.addAfter(key, Math.min(RETRY_MS, provider.refreshSeconds * 1000));
    }
  }

  async function refresh(
    object: OwnedAccessKey,
    provider: IdentityProviderState,
    refreshToken: string,
    sub: string,
    signal: AbortSignal,
  ): Promise<void> {
    const answer = await client.refresh(provider, refreshToken, sub);
    const next = answer.refreshToken ?? refreshToken;
    // First of all: the one before may be worth nothing any more.
    const write = (identity: NonNullable<OwnedAccessKey["spec"]>["identity"]) =>
      ignoringConflicts(() =>
        updateControlled(
          port,
          accessKeys,
          object,
          {
            transform: (current) => ({ ...current, spec: { ...asKey(current).spec, identity } }),
          },
          signal,
        ),
      );
    const identity = mapClaims(provider, answer.claims, isReserved);
    if (identity.warning !== "")
      port.onError(
        new ProviderError(`session of ${object.spec?.user}: ${identity.warning}`),
        `identity provider ${provider.name}`,
      );
    await write(identityFields(provider, identity, next, clock.now()));
    const user = await users.keep(provider, identity);
    if (user !== object.spec?.user) throw new SignInRefusal("the identity belongs to another user now");
  }

  const look = (object: CachedObject): void => {
    if (object.hasSealed(ENVELOPE)) queue.add(object.key);
  };
  const { view, keys } = accessKeys;
  const scans = createScans();
  const checkAll = (all: readonly CachedObject[]): void => scans.add(inSlices(all, look, scans.signal));
  const following = [
    // `process` notices keys that are gone.
    followView({ view, prefix: keys.prefix }, scheduler, { replace: checkAll, put: look }),
    // Other rules may let other people in.
    providers.onChange(() => checkAll(view.list(keys.prefix))),
  ];
  return createQueueController(filledQueue(scans, queue), following);
}

const isOver = ({ ruleUid, terms }: KeyGrant, { uid, identity, isOff }: IdentityProviderState): boolean =>
  isOff || uid !== ruleUid || identity !== terms;

/** The store holds no other kind under this resource. */
const asKey = (object: KubeObject): OwnedAccessKey => object as OwnedAccessKey;

function refreshTokenIn(connectorData: string | undefined): string | undefined {
  if (connectorData === undefined) return undefined;
  const value = parseJson(Buffer.from(connectorData, "base64").toString("utf8"));
  const token = isJsonObject(value) ? value["refreshToken"] : undefined;
  return typeof token === "string" ? token : undefined;
}
