// The audit trail of a key: requests with it, and changes to it. Read on demand, because the server reads whole files.

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useApi } from "../../../api/api-context.tsx";
import { AUDIT_PATH, searchAudit } from "../../../api/audit-search.ts";
import { useMay } from "../../../api/use-may.ts";
import { Button } from "../../../components/button.tsx";
import { Code } from "../../../components/copy-text.tsx";
import { Loading } from "../../../components/loading.tsx";
import { ErrorNotice } from "../../../components/notice.tsx";
import { Section } from "../../../components/page-head.tsx";
import { t } from "../../../texts/text.tsx";
import { AuditRecords } from "../../audit/audit-records.tsx";

const DAY_MS = 86_400_000;
/** For each of the two searches. */
const LIMIT = "100";

export function KeyTrail({ name }: { readonly name: string }) {
  const { client } = useApi();
  const right = useMay({ verb: "get", path: AUDIT_PATH });
  const [isAsked, setAsked] = useState(false);
  const trail = useQuery({
    queryKey: ["trail", name],
    async queryFn({ signal }) {
      const since = new Date(Date.now() - DAY_MS).toISOString();
      const ask = async (filter: { readonly [name: string]: string }) =>
        await searchAudit(client, { ...filter, since, limit: LIMIT }, signal);
      // One after the other: a server runs one search at a time.
      const used = await ask({ key: name });
      // Not what reads the key: this page does so every few seconds.
      const changed = await ask({ object: `ownedaccesskeys/${name}`, changes: "true" });
      // A key that changes itself is in both results.
      return [...new Map([...used.items, ...changed.items].map((record) => [record.auditID, record])).values()];
    },
    enabled: isAsked && right.isAllowed,
    gcTime: 0,
  });
  const show = (): void => {
    setAsked(true);
    if (isAsked) void trail.refetch();
  };
  return (
    <Section
      title={t("key.trail.title")}
      lead={t("key.trail.lead")}
      actions={
        right.isAllowed && (
          <Button isPending={trail.isFetching} onPress={show}>
            {t("key.trail.show")}
          </Button>
        )
      }
    >
      {right.isKnown && !right.isAllowed && <p className="hint">{t("audit.mayNot")}</p>}
      {trail.isLoading && <Loading />}
      {trail.error !== null && <ErrorNotice error={trail.error} onRetry={() => void trail.refetch()} />}
      {trail.data !== undefined && (
        <AuditRecords
          label={t("key.trail.title")}
          records={trail.data}
          empty={<p className="muted">{t("key.trail.none")}</p>}
        />
      )}
      {right.isAllowed && (
        <>
          <p>
            <Link to="/audit" search={{ object: `ownedaccesskeys/${name}`, since: "2592000" }}>
              {t("key.events.changes")}
            </Link>
            {" · "}
            <Link to="/audit" search={{ key: name, show: "all" }}>
              {t("key.events.search")}
            </Link>
          </p>
          <Code label={t("key.events.audit")} text={`postern audit search --key ${name} --since 7d`} />
        </>
      )}
    </Section>
  );
}
