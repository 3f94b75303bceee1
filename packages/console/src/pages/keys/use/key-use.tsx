// The recorded use of a key by resource and verb, and the narrowest scope for it.

import type { KeyScope } from "@postern/api/access-key-scope";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { OwnedAccessKeyExplanation } from "@postern/api/owned-access-key-explanation";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { useApi } from "../../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf } from "../../../api/resources.ts";
import { useMay } from "../../../api/use-may.ts";
import { Button } from "../../../components/button.tsx";
import { Confirm } from "../../../components/dialogs/confirm.tsx";
import { Loading } from "../../../components/loading.tsx";
import { ErrorNotice } from "../../../components/notice.tsx";
import { Section } from "../../../components/page-head.tsx";
import { WhyNot } from "../../../components/refusals/why-not.tsx";
import { type Column, DataTable } from "../../../components/tables/data-table.tsx";
import { Time } from "../../../components/time.tsx";
import { counted, t } from "../../../texts/text.tsx";
import { ScopeList } from "../scopes/scope-list.tsx";
import { scopeSummary } from "../scopes/scope-words.ts";
import { groupUses, type UseGroup } from "./use-groups.ts";

const COLUMNS: readonly Column<UseGroup>[] = [
  {
    id: "resource",
    header: t("key.use.resource"),
    sortBy: ({ resource }) => resource,
    cell: ({ resource, apiGroup }) => (
      <span className="two-lines" title={apiGroup === "" ? resource : `${resource}.${apiGroup}`}>
        <span className="mono">{resource}</span>
        {apiGroup !== "" && <span className="muted mono">{apiGroup}</span>}
      </span>
    ),
  },
  {
    id: "place",
    header: t("key.use.place"),
    from: "medium",
    sortBy: ({ where }) => where,
    cell: ({ where, places }) =>
      where === "" ? (
        <span className="muted">{t("key.use.management")}</span>
      ) : (
        <span title={places.join(", ")}>{where}</span>
      ),
  },
  {
    id: "verbs",
    header: t("field.verbs"),
    text: ({ verbs }) => verbs.join(", "),
    cell: ({ verbs }) => (
      <span className="mono" title={verbs.join(", ")}>
        {verbs.join(", ")}
      </span>
    ),
  },
];

const NONE: readonly never[] = [];

/** `usedAt`: its last use, after which what it was used for is read again. */
export function KeyUse(props: { readonly accessKey: OwnedAccessKey; readonly usedAt: string | null | undefined }) {
  const { accessKey, usedAt = null } = props;
  const name = nameOf(accessKey);
  const { client } = useApi();
  const right = useMay({ verb: "update", resource: "ownedaccesskeys", name });
  const keys = createResourceClient<OwnedAccessKey>(client, ACCESS_KEYS);
  const [isAsked, setAsked] = useState(false);
  const usage = useQuery({
    queryKey: ["usage", name, accessKey.metadata.resourceVersion, usedAt],
    async queryFn({ signal }) {
      const body = { kind: "OwnedAccessKeyExplanation", spec: {} };
      const { status } = (await keys.createSubresource(name, "explain", body, { signal })) as OwnedAccessKeyExplanation;
      return status ?? {};
    },
    placeholderData: (before) => before,
  });
  const narrow = useMutation({
    mutationFn: (scope: KeyScope) => {
      const operation = { op: "add", path: "/spec/scope", value: scope };
      return keys.patch(name, { type: "json", operations: [operation] });
    },
  });
  const { leastScope, usedSince, beyondScopes = [], isUsageComplete, uses = NONE } = usage.data ?? {};
  const groups = useMemo(() => groupUses(uses), [uses]);
  const hasUse = leastScope !== undefined && Object.keys(leastScope).length > 0;
  const summary = scopeSummary({ scope: leastScope ?? {} });
  const isNarrower = hasUse && summary !== scopeSummary(accessKey.spec ?? {});
  const canNarrow = isNarrower && beyondScopes.length === 0;
  return (
    <Section
      title={t("key.use.title")}
      lead={
        usedSince === undefined ? undefined : (
          <>
            {t("key.use.since")} <Time at={usedSince} otherwise="" />
          </>
        )
      }
    >
      {usage.isPending && <Loading />}
      {usage.error !== null && <ErrorNotice error={usage.error} onRetry={() => void usage.refetch()} />}
      {usage.data !== undefined && uses.length === 0 && !hasUse && beyondScopes.length === 0 && (
        <p className="muted">{t("key.use.none")}</p>
      )}
      {uses.length > 0 && (
        <DataTable
          label={t("key.use.title")}
          columns={COLUMNS}
          rows={groups}
          rowKey={({ where, apiGroup, resource, verbs }) => `${where} ${apiGroup} ${resource} ${verbs.join(",")}`}
          empty={null}
        />
      )}
      {isNarrower && (
        <div className="card stack">
          <p>{t("key.use.least", { scope: summary })}</p>
          {isUsageComplete === false && <p className="hint">{t("key.use.incomplete")}</p>}
          {canNarrow && (
            <div className="actions">
              <Button isDisabled={!right.isAllowed} onPress={() => setAsked(true)}>
                {t("key.use.narrow")}
              </Button>
              <WhyNot right={right} />
            </div>
          )}
        </div>
      )}
      {beyondScopes.length > 0 && (
        <div className="card">
          <p>{counted("key.use.beyond", beyondScopes.length)}</p>
          <ul className="lines mono">
            {beyondScopes.map((use) => (
              <li key={use}>{use}</li>
            ))}
          </ul>
        </div>
      )}
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={t("key.narrow.title", { name })}
        action={t("key.use.narrow")}
        consequences={[t("key.narrow.only", { scope: summary }), t("key.narrow.made"), t("key.narrow.back")]}
        onConfirm={() => narrow.mutateAsync(leastScope ?? {})}
      >
        <ScopeList limits={{ scope: leastScope ?? {} }} />
      </Confirm>
    </Section>
  );
}
