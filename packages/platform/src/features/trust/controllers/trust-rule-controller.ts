// Updates the status of trust rules: whether the keys of the issuer are known, and whether tokens are accepted.

import { type ConditionState, withCondition } from "@postern/api/conditions";
import type { TrustRule } from "@postern/api/trust-rule";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { IssuerState } from "../../../foundation/issuers/issuer-keys.ts";
import type { Trust } from "../feature.ts";
import type { TokenVerifier } from "../token-verifier.ts";
import { type TrustRuleState, trustRuleId } from "../trust-rule-state.ts";

/** Locked users and expired keys cause no notification. */
const RECHECK_MS = 60_000;
const MAX_KEY_IDS = 20;

export function createTrustRuleController(
  port: Omit<ControllerPort, "resources">,
  resource: ControlledResource,
  { rules, issuers: { keys: issuerKeys }, verifier }: Trust,
): Controller {
  const { clock, scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: "trust_rule", process });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = resource.view.get(key)?.decode();
    const { namespace, name } = resource.keys.parse(key);
    const rule = rules.get(trustRuleId(namespace, name));
    if (object === undefined || rule === undefined) return;
    const state = issuerKeys.stateOf(rule.source);
    const before = asRule(object).status;
    const status = statusOf(before, conditionsOf(rule, state, verifier), state, clock.now());
    // Both are JSON; only their named types hide it.
    if (!equalJson({ ...before }, { ...status })) {
      const transform = (current: KubeObject): KubeObject => ({ ...current, status });
      await updateStatus(port, resource, object, transform, signal);
    }
    queue.addAfter(key, RECHECK_MS);
  }

  const following = [
    followKeys(resource, scheduler, (key) => queue.add(key)),
    issuerKeys.onChange(({ id }) => {
      for (const { key } of rules.ofSource(id)) if (key.startsWith(resource.keys.prefix)) queue.add(key);
    }),
  ];
  return createQueueController(queue, following);
}

/** The store holds no other kind under this resource. */
const asRule = (object: KubeObject): TrustRule => object as TrustRule;

function conditionsOf(
  rule: TrustRuleState,
  { keys, fetchedAt, fault }: IssuerState,
  verifier: Pick<TokenVerifier, "faultOf">,
): readonly ConditionState[] {
  const isGiven = rule.source.jwks !== undefined;
  const reached: ConditionState =
    fault !== undefined
      ? { type: "IssuerReachable", holds: false, reason: "FetchFailed", message: fault }
      : fetchedAt === undefined
        ? { type: "IssuerReachable", holds: false, reason: "NotFetchedYet", message: "its keys were not fetched yet" }
        : isGiven
          ? { type: "IssuerReachable", holds: true, reason: "KeysGiven", message: "its keys are in the rule" }
          : { type: "IssuerReachable", holds: true, reason: "KeysFetched", message: "its keys were fetched" };
  const why = verifier.faultOf(rule);
  const noKeys = keys.length === 0 ? "the keys of the issuer are not known" : undefined;
  const ready: ConditionState =
    (why ?? noKeys) === undefined
      ? { type: "Ready", holds: true, reason: "Ready", message: "tokens are accepted" }
      : {
          type: "Ready",
          holds: false,
          reason: why === undefined ? "NoKeys" : "NotInForce",
          message: why ?? noKeys ?? "",
        };
  return [reached, ready];
}

function statusOf(
  before: TrustRule["status"],
  states: readonly ConditionState[],
  { keys, fetchedAt }: IssuerState,
  now: number,
): NonNullable<TrustRule["status"]> {
  const conditions = states.reduce((list, state) => withCondition(list, state, now), before?.conditions ?? []);
  const keyIDs = keys.map(({ kid }) => kid).filter((kid) => kid !== "");
  return {
    conditions,
    ...(fetchedAt === undefined ? {} : { keysFetchedTime: formatTimestamp(fetchedAt) }),
    ...(keyIDs.length === 0 ? {} : { keyIDs: keyIDs.slice(0, MAX_KEY_IDS) }),
  };
}
