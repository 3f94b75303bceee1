// Trouble beside keys and clusters: requests that wait for the user, issuers whose tokens are refused, and findings of the doctor.

import type { AccessRequest } from "@postern/api/access-request";
import type { Condition } from "@postern/api/conditions";
import type { IdentityProvider } from "@postern/api/identity-provider";
import type { TrustRule } from "@postern/api/trust-rule";
import { useMemo } from "react";
import { useApi } from "../../api/api-context.tsx";
import {
  ACCESS_REQUESTS,
  CLUSTER_TRUST_RULES,
  IDENTITY_PROVIDERS,
  nameOf,
  TRUST_RULES,
  titleOf,
} from "../../api/resources.ts";
import { isProblem, useDoctor } from "../../api/use-doctor.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { projectOf } from "../../settings.ts";
import { named } from "../../texts/text.tsx";
import { isWaiting, requestTitle } from "../requests/request-state.ts";

/** `to`: the page of it. `isUrgent`: something does not work. */
export type TroubleLine = {
  readonly id: string;
  readonly to: string;
  readonly title: string;
  readonly note: string;
  readonly isUrgent?: boolean;
};

/** In the order of the page. */
export const TROUBLES = ["waiting", "issuers", "doctor"] as const;
type Troubles = { readonly [kind in (typeof TROUBLES)[number]]: readonly TroubleLine[] };

type Issuer = TrustRule | IdentityProvider;

/** The reason why an issuer's tokens are refused; undefined while they are accepted, and before the server has tried. */
function refusalOf({ spec, status }: Issuer): string | undefined {
  const conditions: readonly Condition[] = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (spec?.disabled === true || ready?.status !== "False") return undefined;
  return named("ready", ready.reason ?? "");
}

const linesOf = <T extends Issuer>(issuers: readonly T[], addressOf: (issuer: T) => string): readonly TroubleLine[] =>
  issuers.flatMap((issuer) => {
    const note = refusalOf(issuer);
    if (note === undefined) return [];
    const title = titleOf(issuer);
    return [{ id: issuer.metadata.uid ?? nameOf(issuer), to: addressOf(issuer), title, note }];
  });

const addressOfRule = ({ metadata }: TrustRule): string =>
  `/trust/${projectOf(metadata.namespace ?? "") || "-"}/${metadata.name}`;

/** Without what the user may not list. */
export function useTroubles(): { readonly troubles: Troubles; readonly isLoading: boolean } {
  const { session } = useApi();
  const mayRules = useMay({ verb: "list", resource: "trustrules" });
  const mayClusterRules = useMay({ verb: "list", resource: "clustertrustrules" });
  const mayProviders = useMay({ verb: "list", resource: "identityproviders" });
  const requests = useLive<AccessRequest>(ACCESS_REQUESTS);
  const rules = useLive<TrustRule>(TRUST_RULES, { isWanted: mayRules.isAllowed });
  const clusterRules = useLive<TrustRule>(CLUSTER_TRUST_RULES, { isWanted: mayClusterRules.isAllowed });
  const providers = useLive<IdentityProvider>(IDENTITY_PROVIDERS, { isWanted: mayProviders.isAllowed });
  const doctor = useDoctor();
  const waiting = useMemo(
    () =>
      requests.items
        .filter((request) => isWaiting(request, session.user))
        .map((request) => ({
          id: request.metadata.uid ?? nameOf(request),
          to: `/access-requests/${nameOf(request)}`,
          title: requestTitle(request),
          note: [request.status?.requester?.user, request.spec.reason].filter(Boolean).join(" · "),
        })),
    [requests.items, session.user],
  );
  const issuers = useMemo(
    () => [
      ...linesOf(clusterRules.items, addressOfRule),
      ...linesOf(rules.items, addressOfRule),
      ...linesOf(providers.items, () => "/identity-providers"),
    ],
    [clusterRules.items, rules.items, providers.items],
  );
  const findings = (doctor.findings ?? [])
    .filter(isProblem)
    .map(({ check, message, status }) => ({
      ...{ id: `${check} ${message}`, to: "/about", title: check, note: message },
      isUrgent: status === "error",
    }))
    // The most severe first.
    .sort((one, other) => Number(other.isUrgent) - Number(one.isUrgent));
  return {
    troubles: { waiting, issuers, doctor: findings },
    isLoading: doctor.isLoading || [requests, rules, clusterRules, providers].some(({ isLoading }) => isLoading),
  };
}
