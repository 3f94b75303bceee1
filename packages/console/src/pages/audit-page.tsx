// Searches the audit log: who used which key on what, and what was refused.

import { hashKey, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useApi } from "../api/api-context.tsx";
import { AUDIT_PATH, type AuditAnswer } from "../api/audit-search.ts";
import { useMay } from "../api/use-may.ts";
import { Button } from "../components/button.tsx";
import { DownloadButton } from "../components/copy-text.tsx";
import { EmptyState } from "../components/empty-state.tsx";
import { Checkbox, SelectField } from "../components/fields.tsx";
import { Loading } from "../components/loading.tsx";
import { ErrorNotice, Notice } from "../components/notice.tsx";
import { PageHead } from "../components/page-head.tsx";
import { TextField } from "../components/text-field.tsx";
import { counted, named, t } from "../texts/text.tsx";
import { AuditRecords } from "./audit-records.tsx";

const SINCE = ["3600", "86400", "604800", "2592000", "0"] as const;
const FILTERS = ["key", "user", "object", "cluster", "verb"] as const;
/** Filters that are typed. */
const TEXTS = ["key", "user", "object", "cluster"] as const;
const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"] as const;

export function AuditPage() {
  const right = useMay({ verb: "get", path: AUDIT_PATH });
  if (!right.isKnown) return <Loading />;
  if (right.isAllowed) return <AuditSearch />;
  return (
    <>
      <PageHead title={t("audit.title")} lead={t("audit.lead")} />
      <EmptyState title={t("audit.mayNot")}>{t("audit.mayNot.hint")}</EmptyState>
    </>
  );
}

function AuditSearch() {
  const { client } = useApi();
  const search: { readonly [name: string]: string } = useSearch({ strict: false });
  const navigate = useNavigate({ from: "/audit" });
  const [draft, setDraft] = useState(search);
  const { since = "86400", refused = "" } = draft;
  const found = useQuery({
    queryKey: ["audit", search],
    async queryFn({ signal }) {
      // The route answers in this shape.
      return (await client.request({ method: "GET", path: AUDIT_PATH, query: queryOf(search), signal })) as AuditAnswer;
    },
    retry: false,
  });
  const change = (name: string, value: string): void => setDraft({ ...draft, [name]: value });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const given = Object.entries(draft).filter(([, value]) => value.trim() !== "");
    const next = Object.fromEntries(given);
    // A new search starts by itself; a server runs one search at a time.
    if (hashKey([next]) === hashKey([search])) void found.refetch();
    else void navigate({ replace: true, search: next });
  };
  const { items = [], isTruncated = false } = found.data ?? {};
  return (
    <>
      <PageHead title={t("audit.title")} lead={t("audit.lead")} />
      <form className="toolbar filters" onSubmit={submit}>
        {TEXTS.map((name) => (
          <TextField
            key={name}
            label={t(`audit.${name}`)}
            value={draft[name] ?? ""}
            onChange={(value) => change(name, value)}
            autoComplete="off"
            {...(name === "object" ? { placeholder: "ownedaccesskeys/ci" } : {})}
          />
        ))}
        <SelectField
          label={t("audit.verb")}
          value={draft["verb"] || "any"}
          choices={["any", ...VERBS].map((id) => ({ id, label: named("audit.verb", id) }))}
          onChange={(id) => change("verb", id === "any" ? "" : id)}
        />
        <SelectField
          label={t("audit.since")}
          value={since}
          choices={SINCE.map((id) => ({ id, label: t(`audit.since.${id}`) }))}
          onChange={(value) => change("since", value)}
        />
        <Checkbox isSelected={refused === "true"} onChange={(isOn) => change("refused", isOn ? "true" : "")}>
          {t("audit.refused")}
        </Checkbox>
        <Button kind="primary" type="submit" isPending={found.isFetching}>
          {t("audit.search")}
        </Button>
      </form>
      {found.error !== null && <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {found.data !== undefined && (
        <>
          {isTruncated && <Notice tone="info">{t("audit.truncated", { count: items.length })}</Notice>}
          {items.length > 0 && (
            <div className="toolbar">
              <DownloadButton
                text={`${JSON.stringify(items, undefined, 2)}\n`}
                fileName="audit.json"
                label={t("audit.export")}
              />
              <span className="count" aria-live="polite">
                {counted("audit.count", items.length)}
              </span>
            </div>
          )}
          <AuditRecords
            label={t("audit.title")}
            records={items}
            empty={<EmptyState title={t("audit.empty.title")}>{t("audit.empty.text")}</EmptyState>}
          />
        </>
      )}
    </>
  );
}

/** Query parameters for the server; relative times become absolute. */
function queryOf({ since = "86400", ...others }: { readonly [name: string]: string }): { [name: string]: string } {
  const seconds = Number(since);
  const given = Object.entries(others).filter(
    ([name]) => name === "refused" || FILTERS.some((known) => known === name),
  );
  return {
    ...Object.fromEntries(given),
    ...(seconds > 0 ? { since: new Date(Date.now() - seconds * 1_000).toISOString() } : {}),
  };
}
