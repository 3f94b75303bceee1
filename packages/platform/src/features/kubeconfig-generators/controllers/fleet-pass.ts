// One look at a generator: credentials that are missing or end soon are made, Secrets are written, and then credentials that no Secret has are revoked.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { MAX_DATA_SIZE } from "@postern/kubernetes/builtin/core/keyed-data";
import type { Foundation } from "../../../foundation/foundation.ts";
import { MAX_CLUSTERS } from "../generator-limits.ts";
import { type FleetEntry, secretsOf } from "../secret-formats.ts";
import { type Candidate, createFleetCandidates, entryOf } from "./fleet-candidates.ts";
import { createFleetSecrets } from "./fleet-secrets.ts";
import { type FleetState, fleetStateOf } from "./fleet-state.ts";
import { createFleetTokens, type IssuedTokens, type MadeTokens } from "./fleet-tokens.ts";
import { actorOf, type GeneratorActor, type GeneratorFault } from "./generator-actor.ts";
import type { GeneratorNeeds } from "./generator-needs.ts";

/** Changes of rights cause no notification. */
const RECHECK_MS = 5 * 60_000;
/** After a refusal that may pass, such as that of a quota. */
const RETRY_MS = 60_000;

const SECRET_TOO_LARGE: GeneratorFault = {
  reason: "SecretTooLarge",
  message: `the kubeconfig would be larger than a Secret may be (${MAX_DATA_SIZE} bytes): narrow spec.selector, or choose a format with a Secret for each virtual cluster`,
};
const TOO_MANY: GeneratorFault = {
  reason: "TooManyVirtualClusters",
  message: `spec.selector matches more than ${MAX_CLUSTERS} virtual clusters: narrow it, and create another generator for the rest`,
};

export function createFleetPass(base: Foundation, needs: GeneratorNeeds) {
  const { names, own } = base;
  const { clock } = base.runtime;
  const { revoke } = needs.mint;
  const pause = createTurns(clock);
  const secrets = createFleetSecrets(base, needs);
  const candidatesOf = createFleetCandidates(base, needs, secrets, pause);
  const fleetTokens = createFleetTokens(base, needs, secrets, pause);

  /** In order of their names. */
  async function selectedBy({ metadata, spec }: KubeconfigGenerator): Promise<readonly VirtualClusterInstance[]> {
    const selector = selectorFromLabelSelector(spec.selector);
    const { view, keys: places } = own("VirtualClusterInstance");
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
    const selected = await selectedBy(generator);
    const considered = selected.slice(0, MAX_CLUSTERS);
    const actor = await actorOf(generator, base, needs);
    if ("reason" in actor) {
      const faults = new Map(considered.map(({ metadata: { name = "" } }) => [name, actor]));
      const outcome = { nextMs: RECHECK_MS, isPreviousOver: false, now: clock.now() };
      return fleetStateOf(generator, { selected, tokens: new Map(), faults, fault: actor, ...outcome });
    }

    const { candidates, faults, isFull } = await candidatesOf(generator, considered, actor, signal);
    const clusters = candidates.map(({ name }) => name);
    const known = await fleetTokens.current(generator, clusters, actor);
    const made = await fleetTokens.make(generator, candidates, known, actor, signal);
    const { tokens, left, refusal } = made;
    const written = await writeSecrets(generator, candidates, made, actor, signal);
    const revokeMs = await fleetTokens.revokeUnused(tokens, new Set(clusters), actor, signal);

    const isMoreToDo = left > 0 && refusal === undefined;
    const laterMs = Math.min(
      revokeMs,
      Math.max(fleetTokens.dueMs(tokens), RETRY_MS),
      refusal === undefined ? RECHECK_MS : RETRY_MS,
    );
    return fleetStateOf(generator, {
      ...{ selected, tokens, faults: withRefusal(faults, candidates, made), now: clock.now() },
      fault: faultOf({ isTooMany: selected.length > MAX_CLUSTERS, isFull, refusal, ofSecret: written.fault }),
      nextMs: isMoreToDo ? 0 : laterMs,
      isPreviousOver: left === 0 && [...tokens.values()].every((one) => !one.isPrevious),
    });
  };

  /** As the creator. Access keys that no Secret could take are revoked: each try would leave as many. */
  async function writeSecrets(
    generator: KubeconfigGenerator,
    candidates: readonly Candidate[],
    { tokens, made }: MadeTokens,
    { user }: GeneratorActor,
    signal: AbortSignal,
  ): Promise<{ readonly fault: GeneratorFault | undefined }> {
    const { metadata, spec, status = {} } = generator;
    const project = names.projectOf(metadata.namespace ?? "") ?? "";
    const written = secretsOf(generator, project, entriesOf(candidates, tokens));
    const { name } = spec.secretRef;
    const fault = written.has(name) ? secrets.faultOf(generator, name) : undefined;
    try {
      for (const [secretName, secret] of written) {
        await pause();
        if (secrets.faultOf(generator, secretName) === undefined)
          await secrets.write(generator, secretName, secret, user, signal);
      }
    } catch (error) {
      for (const key of made) await revoke(key, signal);
      throw error;
    }
    for (const { secret = "" } of status.clusters ?? [])
      if (secret !== "" && !written.has(secret)) await secrets.remove(generator, secret, signal);
    return { fault };
  }
}

const entriesOf = (candidates: readonly Candidate[], tokens: IssuedTokens): readonly FleetEntry[] =>
  candidates.flatMap(({ name, address, instance }) => {
    const token = tokens.get(name)?.token;
    return token === undefined
      ? []
      : [{ cluster: name, ...entryOf(address), token, labels: instance.metadata.labels ?? {} }];
  });

/** With the refusal as the reason of those virtual clusters that have no token because of it. */
function withRefusal(
  faults: ReadonlyMap<string, GeneratorFault>,
  candidates: readonly Candidate[],
  { tokens, refusal }: MadeTokens,
): ReadonlyMap<string, GeneratorFault> {
  if (refusal === undefined) return faults;
  const without = candidates.filter(({ name }) => !tokens.has(name));
  return new Map([...faults, ...without.map(({ name }): [string, GeneratorFault] => [name, refusal])]);
}

function faultOf({
  isTooMany,
  isFull,
  refusal,
  ofSecret,
}: {
  readonly isTooMany: boolean;
  readonly isFull: boolean;
  readonly refusal: GeneratorFault | undefined;
  readonly ofSecret: GeneratorFault | undefined;
}): GeneratorFault | undefined {
  if (isTooMany) return TOO_MANY;
  if (isFull) return SECRET_TOO_LARGE;
  return refusal ?? ofSecret;
}
