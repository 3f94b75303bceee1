// The credentials of a generator: those in its Secrets, those that are missing or end soon, and those that no Secret has any more.

import type { GeneratedCluster, KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { DEFAULT_GENERATED_TTL_SECONDS } from "@postern/api/kubeconfig-generator";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Foundation } from "../../../foundation/foundation.ts";
import { accessKeyAnnotations } from "../../access-keys/access-key-refusal.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import { virtualClusterIdentity } from "../../authorization/caller.ts";
import { KEYS_AT_ONCE } from "../generator-limits.ts";
import { type Candidate, faultOfError } from "./fleet-candidates.ts";
import type { CurrentToken, FleetSecrets } from "./fleet-secrets.ts";
import type { GeneratorActor, GeneratorFault } from "./generator-actor.ts";
import type { GeneratorNeeds } from "./generator-needs.ts";

/** A token with the time from which its life is counted, in milliseconds. */
export type Issued = CurrentToken & { readonly issuedAt: number };

/** By the name of a virtual cluster. */
export type IssuedTokens = ReadonlyMap<string, Issued>;

export type MadeTokens = {
  /** Those before, and those that were made. */
  readonly tokens: IssuedTokens;
  /** Access keys that were made, which no Secret has yet. */
  readonly made: readonly string[];
  /** The number of virtual clusters that wait for their turn. */
  readonly left: number;
  /** The first refusal: no more are tried after it. */
  readonly refusal: GeneratorFault | undefined;
};

/** Annotation of audit events: namespace and name of the generator that got a credential. */
const GENERATOR_ANNOTATION = "kubeconfig-generator/name";

const ttlMsOf = ({ spec }: KubeconfigGenerator): number => (spec.ttlSeconds ?? DEFAULT_GENERATED_TTL_SECONDS) * 1_000;

export function createFleetTokens(
  { names, runtime: { clock } }: Foundation,
  { keys: { index: keys }, mint: { revoke }, issuer, audit }: GeneratorNeeds,
  secrets: FleetSecrets,
  pause: () => Promise<void> | undefined,
) {
  async function current(
    generator: KubeconfigGenerator,
    clusters: readonly string[],
    actor: GeneratorActor,
  ): Promise<IssuedTokens> {
    const before = new Map((generator.status?.clusters ?? []).map((cluster) => [cluster.name, cluster]));
    const found = await secrets.tokensIn(generator, clusters, actor);
    return new Map(
      [...found].map(([name, token]) => [
        name,
        { ...token, issuedAt: issuedAtOf(token, before.get(name), ttlMsOf(generator)) },
      ]),
    );
  }

  /** Makes a bounded number of those that are missing or end soon. A credential that ends soon stays until there is another. */
  async function make(
    generator: KubeconfigGenerator,
    wanted: readonly Candidate[],
    known: IssuedTokens,
    { kubeconfigContext, key }: GeneratorActor,
    signal: AbortSignal,
  ): Promise<MadeTokens> {
    const isReadOnly = generator.spec.role === "view";
    const ttlMs = ttlMsOf(generator);
    const tokens = new Map(known);
    const made: string[] = [];
    let left = 0;
    let refusal: GeneratorFault | undefined;
    for (const { instance, name, requester } of wanted) {
      const token = known.get(name);
      if (token !== undefined && !isDue(token, ttlMs, key)) continue;
      if (made.length >= KEYS_AT_ONCE || refusal !== undefined) {
        left++;
        continue;
      }
      await pause();
      try {
        const recorded = recordedAs(generator, name, key);
        const issued = await audit(kubeconfigContext(name, signal), recorded, async (context) => {
          const one = await issuer.issue(instance, { isReadOnly, ttlSeconds: ttlMs / 1_000 }, requester, context);
          made.push(one.keyName);
          return one;
        });
        tokens.set(name, { ...issued, isPrevious: false, issuedAt: clock.now() });
      } catch (error) {
        left++;
        refusal = faultOfError(error);
      }
    }
    return { tokens, made, left, refusal };
  }

  function isDue({ expiresAt, issuedAt, isPrevious }: Issued, ttlMs: number, key: AccessKeyState): boolean {
    if (isPrevious) return true;
    if (expiresAt === undefined) return false;
    const now = clock.now();
    const end = Math.min(now + ttlMs, key.expiresAt ?? Number.POSITIVE_INFINITY);
    return expiresAt - now <= (expiresAt - issuedAt) / 3 && end > expiresAt + 60_000;
  }

  /** Milliseconds until the first of them ends soon; negative if one does already. */
  function dueMs(tokens: IssuedTokens): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { expiresAt, issuedAt } of tokens.values())
      if (expiresAt !== undefined) next = Math.min(next, expiresAt - (expiresAt - issuedAt) / 3 - clock.now());
    return next;
  }

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
   * ones do not: a writer of the Secret could have any number of them made. Returns the milliseconds until the first of those that stay has to go.
   */
  async function revokeUnused(
    tokens: IssuedTokens,
    clusters: ReadonlySet<string>,
    { key, previous }: GeneratorActor,
    signal: AbortSignal,
  ): Promise<number> {
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
    return nextMs;
  }

  function clusterOf({ audiences }: AccessKeyState, clusters: ReadonlySet<string>): string {
    for (const audience of audiences) {
      const name = audience.slice(audience.lastIndexOf(":") + 1);
      if (clusters.has(name) && audience.startsWith(virtualClusterIdentity(names, "", "").slice(0, -1))) return name;
    }
    return "";
  }

  return { current, make, dueMs, revokeUnused };
}

const overlapEnd = ({ issuedAt, expiresAt }: Issued): number =>
  expiresAt === undefined ? issuedAt : issuedAt + (expiresAt - issuedAt) / 6;

/** A credential that was written, and then not recorded, counts as one with the whole TTL. */
const issuedAtOf = (
  { keyName, expiresAt }: CurrentToken,
  before: GeneratedCluster | undefined,
  ttlMs: number,
): number =>
  (before?.accessKey === keyName ? parseTimestamp(before.issuedTimestamp ?? "") : undefined) ??
  (expiresAt ?? 0) - ttlMs;
