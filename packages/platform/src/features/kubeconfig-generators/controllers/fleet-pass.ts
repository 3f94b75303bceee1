// One look at a generator: credentials that are missing or end soon are made, Secrets are written, and then credentials that no Secret has are revoked.

import { type ConditionState, withCondition } from "@postern/api/conditions";
import type { GeneratedCluster, KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { DEFAULT_GENERATED_TTL_SECONDS } from "@postern/api/kubeconfig-generator";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ControllerAudit } from "@postern/apiserver/chain/controller-audit";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { MAX_DATA_SIZE } from "@postern/kubernetes/builtin/core/keyed-data";
import { accessKeyAnnotations } from "../../access-keys/access-key-refusal.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import type { RevokeAccessKey } from "../../access-keys/mint-access-key.ts";
import { virtualClusterIdentity } from "../../authorization/caller.ts";
import { reasonOf } from "../../virtual-clusters/backend-registry.ts";
import type { TokenIssuer } from "../../virtual-clusters/kinds/virtual-cluster-instances/subresources/issue-token.ts";
import type { Requester } from "../../virtual-clusters/kinds/virtual-cluster-instances/subresources/kubeconfig-requester.ts";
import type { ServerAddress } from "../../virtual-clusters/kinds/virtual-cluster-instances/subresources/server-address.ts";
import { KEYS_AT_ONCE, MAX_CLUSTERS } from "../generator-limits.ts";
import { type FleetEntry, secretOfCluster, secretsOf, sizeInSecret } from "../secret-formats.ts";
import type { CurrentToken, FleetSecrets } from "./fleet-secrets.ts";
import { type ActorDeps, actorOf, type GeneratorActor, type GeneratorFault } from "./generator-actor.ts";

export type FleetPassDeps = ActorDeps & {
  readonly instances: () => ControlledResource;
  readonly secrets: FleetSecrets;
  readonly issuer: TokenIssuer;
  readonly revoke: RevokeAccessKey;
  readonly audit: ControllerAudit;
};

export type FleetState = {
  readonly clusters: readonly GeneratedCluster[];
  readonly selected: number;
  readonly ready: ConditionState;
  /** The key before the present one has no credential in use any more. */
  readonly isPreviousOver: boolean;
  /** Milliseconds until something is due; 0: there is more to do now. */
  readonly nextMs: number;
};

/** Changes of rights cause no notification. */
const RECHECK_MS = 5 * 60_000;
/** After a refusal that may pass, such as that of a quota. */
const RETRY_MS = 60_000;
/** As long as a token: sizes are computed with it before there is one. */
const TOKEN_PLACE = "x".repeat(64);
/** The rest is for the lines around the entries. */
const MAX_ENTRIES_SIZE = MAX_DATA_SIZE - 1_024;

type Candidate = {
  readonly instance: VirtualClusterInstance;
  readonly name: string;
  readonly address: ServerAddress;
  readonly requester: Requester;
};

/** A token with the time from which its life is counted, in milliseconds. */
type Issued = CurrentToken & { readonly issuedAt: number };

export function createFleetPass(deps: FleetPassDeps) {
  const { names, clock, keys, instances, secrets, issuer, revoke, audit } = deps;
  const pause = createTurns(clock);

  /** In order of their names. */
  async function selectedBy({ metadata, spec }: KubeconfigGenerator): Promise<readonly VirtualClusterInstance[]> {
    const selector = selectorFromLabelSelector(spec.selector);
    const { view, keys: places } = instances();
    const found: VirtualClusterInstance[] = [];
    for (const object of view.list(places.inNamespace(metadata.namespace ?? ""))) {
      await pause();
      // The store holds no other kind under this resource.
      const instance = object.decode() as VirtualClusterInstance;
      if (!isBeingDeleted(instance) && selector.matches(instance.metadata.labels)) found.push(instance);
    }
    return found;
  }

  return async function pass(generator: KubeconfigGenerator, signal: AbortSignal): Promise<FleetState> {
    const { metadata, spec, status = {} } = generator;
    const project = names.projectOf(metadata.namespace ?? "") ?? "";
    const isReadOnly = spec.role === "view";
    const ttlSeconds = spec.ttlSeconds ?? DEFAULT_GENERATED_TTL_SECONDS;
    const selected = await selectedBy(generator);
    const before = new Map((status.clusters ?? []).map((cluster) => [cluster.name, cluster]));
    const faults = new Map<string, GeneratorFault>();

    const actor = await actorOf(generator, deps);
    if ("reason" in actor) {
      for (const { metadata: of } of selected.slice(0, MAX_CLUSTERS)) faults.set(of.name ?? "", actor);
      return stateOf(new Map(), { fault: actor, nextMs: RECHECK_MS, isPreviousOver: false });
    }

    const candidates: Candidate[] = [];
    let bytes = 0;
    let isFull = false;
    for (const instance of selected.slice(0, MAX_CLUSTERS)) {
      await pause();
      const name = instance.metadata.name ?? "";
      const fault = secrets.faultOf(generator, secretOfCluster(generator, name));
      if (fault !== undefined) faults.set(name, fault);
      if (fault !== undefined) continue;
      try {
        const requester = await issuer.requesterOf(actor.kubeconfigContext(name, signal));
        const address = issuer.addressOf(instance, { isReadOnly });
        bytes += sizeInSecret(generator, project, { cluster: name, ...entryOf(address), token: TOKEN_PLACE });
        isFull ||= bytes > MAX_ENTRIES_SIZE;
        if (isFull) faults.set(name, SECRET_FULL);
        else candidates.push({ instance, name, address, requester });
      } catch (error) {
        faults.set(name, faultOfError(error));
      }
    }

    const clusters = candidates.map(({ name }) => name);
    const tokens = new Map<string, Issued>();
    for (const [name, token] of await secrets.tokensIn(generator, clusters, actor))
      tokens.set(name, { ...token, issuedAt: issuedAtOf(token, before.get(name), ttlSeconds) });

    const made = await makeTokens(candidates, tokens, actor, signal);
    const entries = candidates.flatMap(({ name, address }): readonly FleetEntry[] => {
      const token = tokens.get(name)?.token;
      return token === undefined ? [] : [{ cluster: name, ...entryOf(address), token }];
    });
    const written = secretsOf(generator, project, entries);
    const oneFault = secrets.faultOf(generator, spec.secretRef.name);
    try {
      for (const [name, secret] of written) {
        await pause();
        if (secrets.faultOf(generator, name) === undefined)
          await secrets.write(generator, name, secret, actor.user, signal);
      }
    } catch (error) {
      // No Secret may have them: each try would leave as many.
      for (const name of made.names) await revoke(name, signal);
      throw error;
    }
    for (const { secret = "" } of before.values())
      if (secret !== "" && !written.has(secret)) await secrets.remove(generator, secret, signal);
    const revocation = await revokeUnused(actor, tokens, new Set(clusters), signal);
    const isPreviousOver =
      made.left === 0 && revocation.nextMs > 0 && [...tokens.values()].every((one) => !one.isPrevious);
    const due = dueMs(tokens.values());
    const nextMs =
      made.left > 0 && made.refusal === undefined
        ? 0
        : Math.min(revocation.nextMs, due, made.refusal === undefined ? RECHECK_MS : RETRY_MS);
    const fault =
      selected.length > MAX_CLUSTERS
        ? TOO_MANY
        : isFull
          ? SECRET_TOO_LARGE
          : (made.refusal ?? (written.has(spec.secretRef.name) ? oneFault : undefined));
    return stateOf(tokens, { fault, nextMs, isPreviousOver });

    /** Changes `tokens`. A credential that ends soon stays until there is another. */
    async function makeTokens(
      wanted: readonly Candidate[],
      known: Map<string, Issued>,
      { kubeconfigContext, key }: GeneratorActor,
      until: AbortSignal,
    ): Promise<{
      readonly left: number;
      readonly names: readonly string[];
      readonly refusal: GeneratorFault | undefined;
    }> {
      let [count, left] = [0, 0];
      const made: string[] = [];
      let refusal: GeneratorFault | undefined;
      for (const { instance, name, requester } of wanted) {
        const token = known.get(name);
        if (token !== undefined && !isDue(token, key)) continue;
        if (count >= KEYS_AT_ONCE || refusal !== undefined) {
          left++;
          if (token === undefined) faults.set(name, refusal ?? PENDING);
          continue;
        }
        await pause();
        count++;
        try {
          const recorded = recordedAs(generator, name, key);
          const issued = await audit(kubeconfigContext(name, until), recorded, async (context) => {
            const one = await issuer.issue(instance, { isReadOnly, ttlSeconds }, requester, context);
            made.push(one.keyName);
            return one;
          });
          known.set(name, { ...issued, isPrevious: false, issuedAt: clock.now() });
        } catch (error) {
          left++;
          refusal = faultOfError(error);
          if (token === undefined) faults.set(name, refusal);
        }
      }
      return { left, names: made, refusal };
    }

    function isDue({ expiresAt, issuedAt, isPrevious }: Issued, key: AccessKeyState): boolean {
      if (isPrevious) return true;
      if (expiresAt === undefined) return false;
      const now = clock.now();
      const end = Math.min(now + ttlSeconds * 1_000, key.expiresAt ?? Number.POSITIVE_INFINITY);
      return expiresAt - now <= (expiresAt - issuedAt) / 3 && end > expiresAt + 60_000;
    }

    function dueMs(issued: Iterable<Issued>): number {
      let next = Number.POSITIVE_INFINITY;
      for (const { expiresAt, issuedAt } of issued)
        if (expiresAt !== undefined) next = Math.min(next, expiresAt - (expiresAt - issuedAt) / 3 - clock.now());
      return Math.max(next, RETRY_MS);
    }

    function stateOf(
      issued: ReadonlyMap<string, Issued>,
      {
        fault,
        nextMs,
        isPreviousOver,
      }: { readonly fault: GeneratorFault | undefined; readonly nextMs: number; readonly isPreviousOver: boolean },
    ): FleetState {
      const now = clock.now();
      const states = selected.slice(0, MAX_CLUSTERS).map(({ metadata: { name = "" } }): GeneratedCluster => {
        const token = issued.get(name);
        const why = faults.get(name) ?? PENDING;
        const condition =
          token === undefined
            ? { type: "Ready", holds: false, ...why }
            : { type: "Ready", holds: true, reason: "Current", message: "" };
        return {
          name,
          secret: secretOfCluster(generator, name),
          ...(token === undefined
            ? {}
            : {
                accessKey: token.keyName,
                issuedTimestamp: formatTimestamp(token.issuedAt),
                ...(token.expiresAt === undefined ? {} : { expirationTimestamp: formatTimestamp(token.expiresAt) }),
              }),
          conditions: withCondition(before.get(name)?.conditions ?? [], condition, now),
        };
      });
      const count = issued.size;
      const first =
        fault ?? (count < selected.length ? [...faults.values()].find((one) => one !== PENDING) : undefined);
      const message = `${count} of ${selected.length} virtual clusters`;
      const ready: ConditionState =
        count === selected.length && fault === undefined
          ? { type: "Ready", holds: true, reason: "Current", message }
          : {
              type: "Ready",
              holds: false,
              reason: first?.reason ?? PENDING.reason,
              message: first === undefined ? message : `${message}: ${first.message}`,
            };
      return { clusters: states, selected: selected.length, ready, nextMs, isPreviousOver };
    }
  };

  /** For the audit log: the creator makes the credential, and the generator is the reason. */
  function recordedAs(
    { metadata: { namespace = "", name = "" } }: KubeconfigGenerator,
    cluster: string,
    key: AccessKeyState,
  ) {
    const instances = `/apis/${names.managementGroup}/v1/namespaces/${namespace}/virtualclusterinstances`;
    const annotations = {
      ...accessKeyAnnotations(key.name, key.origins),
      [GENERATOR_ANNOTATION]: `${namespace}/${name}`,
    };
    return { requestUri: `${instances}/${cluster}/kubeconfig`, annotations };
  }

  /**
   * Of each virtual cluster, the credential before the present one stays valid for a sixth of its life: readers have seen the Secret by then. Older
   * ones do not: a writer of the Secret could have any number of them made.
   */
  async function revokeUnused(
    { key, previous }: GeneratorActor,
    tokens: ReadonlyMap<string, Issued>,
    clusters: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<{ readonly nextMs: number }> {
    const used = new Set([...tokens.values()].map(({ keyName }) => keyName));
    const now = clock.now();
    let nextMs = Number.POSITIVE_INFINITY;
    const kept = new Set<string>();
    const unused = [key, ...(previous === undefined ? [] : [previous])]
      .flatMap(({ uid }) => keys.childrenOf(uid))
      .filter(({ name }) => !used.has(name))
      .sort((one, other) => (other.expiresAt ?? 0) - (one.expiresAt ?? 0));
    for (const child of unused) {
      await pause();
      const cluster = clusterOf(child, clusters);
      const newer = tokens.get(cluster);
      const leftMs = newer === undefined || kept.has(cluster) ? 0 : overlapEnd(newer) - now;
      kept.add(cluster);
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
      else await revoke(child.name, signal);
    }
    return { nextMs };
  }

  function clusterOf({ audiences }: AccessKeyState, clusters: ReadonlySet<string>): string {
    for (const audience of audiences) {
      const name = audience.slice(audience.lastIndexOf(":") + 1);
      if (clusters.has(name) && audience.startsWith(virtualClusterIdentity(names, "", "").slice(0, -1))) return name;
    }
    return "";
  }
}

/** Of audit events: namespace and name of the generator that got a credential. */
const GENERATOR_ANNOTATION = "kubeconfig-generator/name";

const overlapEnd = ({ issuedAt, expiresAt }: Issued): number =>
  expiresAt === undefined ? issuedAt : issuedAt + (expiresAt - issuedAt) / 6;

const entryOf = ({ url, certificateAuthorityPem }: ServerAddress) => ({ server: url, certificateAuthorityPem });

/** A credential that was written, and then not recorded, counts as one with the whole TTL. */
const issuedAtOf = (
  { keyName, expiresAt }: CurrentToken,
  before: GeneratedCluster | undefined,
  ttlSeconds: number,
): number =>
  (before?.accessKey === keyName ? parseTimestamp(before.issuedTimestamp ?? "") : undefined) ??
  (expiresAt ?? 0) - ttlSeconds * 1_000;

function faultOfError(error: unknown): GeneratorFault {
  if (error instanceof ApiError) return reasonOf(error);
  throw error;
}

const PENDING: GeneratorFault = { reason: "Pending", message: "its credential is not made yet" };
const SECRET_FULL: GeneratorFault = { reason: "SecretFull", message: "the Secret has no room for it" };
const SECRET_TOO_LARGE: GeneratorFault = {
  reason: "SecretTooLarge",
  message: `the kubeconfig would be larger than a Secret may be (${MAX_DATA_SIZE} bytes): narrow spec.selector, or choose a format with a Secret for each virtual cluster`,
};
const TOO_MANY: GeneratorFault = {
  reason: "TooManyVirtualClusters",
  message: `spec.selector matches more than ${MAX_CLUSTERS} virtual clusters: narrow it, and create another generator for the rest`,
};
