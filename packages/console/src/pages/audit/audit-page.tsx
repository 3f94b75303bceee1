// Searches the audit log: who changed what, with which key, and what was refused.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { hashKey, keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useId, useMemo, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { AUDIT_PATH, searchAudit } from "../../api/audit-search.ts";
import { ACCESS_KEYS, nameOf, USERS, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { DownloadButton } from "../../components/copy-text.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Checkbox, SelectField } from "../../components/forms/fields.tsx";
import { NameField } from "../../components/forms/name-field.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { Loading } from "../../components/loading.tsx";
import { ErrorNotice, Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { shortTime } from "../../format/ages.ts";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { projectOf } from "../../settings.ts";
import { counted, named, t } from "../../texts/text.tsx";
import { AuditHistogram } from "./audit-histogram.tsx";
import { hasRange, queryOf, type AuditSearch as Search, SHOWN, SINCE, shownOf, USUAL_SINCE } from "./audit-query.ts";
import { AuditRecords } from "./audit-records.tsx";
import { objectOf } from "./record-words.ts";

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"] as const;
/** Fields that are typed. */
const TYPED = ["key", "user", "cluster", "object"] as const;
/** Objects of the found records, of which so many are suggested. */
const SUGGESTED = 50;

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
  const given: Search = useSearch({ strict: false });
  // As links of earlier releases have it.
  const search = useMemo(() => (given["refused"] === "true" ? { ...given, show: "refused" } : given), [given]);
  const navigate = useNavigate({ from: "/audit" });
  const found = useQuery({
    queryKey: ["audit", search],
    queryFn: ({ signal }) => searchAudit(client, queryOf(search, Date.now()), signal),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const go = (changes: Search): void => {
    const next = Object.fromEntries(
      Object.entries({ ...search, refused: "", ...changes }).filter(([, value]) => value.trim() !== ""),
    );
    // A new search starts by itself; a server runs one search at a time.
    if (hashKey([next]) === hashKey([given])) void found.refetch();
    else void navigate({ replace: true, search: next });
  };
  const { draft, change, isUnsent } = useDraft(search);
  const { items = [], isTruncated = false, counts } = found.data ?? {};
  const objects = useMemo(() => objectsIn(items), [items]);
  return (
    <>
      <PageHead title={t("audit.title")} lead={t("audit.lead")} />
      <Filters
        search={search}
        draft={draft}
        onChange={change}
        objects={objects}
        isSearching={found.isFetching}
        onSearch={go}
      />
      {isUnsent && (
        <p className="hint" role="status">
          {t("audit.unsent")}
        </p>
      )}
      {found.error !== null && <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {found.data !== undefined && (
        <>
          {counts !== undefined && items.length > 0 && (
            <AuditHistogram
              counts={counts}
              isOfChanges={shownOf(search) === "changes"}
              onSelect={(since, until) => go({ ...draft, since, until })}
            />
          )}
          {isTruncated && <Notice tone="info">{t("audit.truncated", { count: items.length })}</Notice>}
          {items.length > 0 && (
            <div className="toolbar">
              <DownloadButton
                text={() => `${JSON.stringify(items, undefined, 2)}\n`}
                fileName="audit.json"
                label={t("audit.export")}
              />
              <span className="count" aria-live="polite">
                {counted(shownOf(search) === "changes" ? "audit.changes" : "audit.count", items.length)}
              </span>
            </div>
          )}
          <AuditRecords
            label={t("audit.title")}
            records={items}
            empty={
              <EmptyState title={t("audit.empty.title")}>
                {t(shownOf(search) === "changes" ? "audit.empty.changes" : "audit.empty.text")}
              </EmptyState>
            }
          />
        </>
      )}
    </>
  );
}

/** The fields as they are typed. A link to another search replaces them. */
function useDraft(search: Search) {
  const [draft, setDraft] = useState(search);
  const [searched, setSearched] = useState(search);
  if (hashKey([searched]) !== hashKey([search])) {
    setSearched(search);
    setDraft(search);
  }
  const isUnsent = TYPED.some((name) => (draft[name] ?? "").trim() !== (search[name] ?? "").trim());
  return { draft, isUnsent, change: (name: string, value: string) => setDraft({ ...draft, [name]: value }) };
}

/** Choices search at once; what is typed when the form is sent, or with the next choice. */
function Filters(props: {
  readonly search: Search;
  readonly draft: Search;
  readonly onChange: (name: string, value: string) => void;
  readonly objects: readonly string[];
  readonly isSearching: boolean;
  readonly onSearch: (changes: Search) => void;
}) {
  const { search, draft, onChange, objects, isSearching, onSearch } = props;
  const suggestions = useId();
  const shown = shownOf(search);
  const { since = USUAL_SINCE, until = "" } = search;
  const isRange = hasRange(search);
  const range = isRange ? [{ id: since, label: rangeText(since, until) }] : [];
  const field = (name: string) => ({
    label: t(`audit.${name as "key"}`),
    value: draft[name] ?? "",
    onChange: (value: string) => onChange(name, value),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSearch(draft);
  };
  return (
    <form className="toolbar filters" onSubmit={submit}>
      <SelectField
        label={t("audit.show")}
        value={shown}
        choices={SHOWN.map((id) => ({ id, label: t(`audit.show.${id}`) }))}
        onChange={(id) => onSearch({ ...draft, show: id === "changes" ? "" : id })}
      />
      <SelectField
        label={t("audit.since")}
        value={since}
        choices={[...range, ...SINCE.map((id) => ({ id: id as string, label: t(`audit.since.${id}`) }))]}
        onChange={(id) => onSearch({ ...draft, since: id, until: "" })}
      />
      <NameField of={ACCESS_KEYS} {...field("key")} />
      <NameField of={USERS} {...field("user")} />
      <NameField of={VIRTUAL_CLUSTERS} namedBy={clusterName} {...field("cluster")} />
      <TextField {...field("object")} placeholder="users/jane" list={suggestions} />
      <datalist id={suggestions}>
        {objects.map((object) => (
          <option key={object} value={object} />
        ))}
      </datalist>
      <SelectField
        label={t("audit.verb")}
        value={search["verb"] || "any"}
        choices={["any", ...VERBS].map((id) => ({ id, label: named("audit.verb", id) }))}
        onChange={(id) => onSearch({ ...draft, verb: id === "any" ? "" : id })}
      />
      {shown !== "changes" && (
        <Checkbox
          isSelected={search["pages"] === "true"}
          onChange={(isOn) => onSearch({ ...draft, pages: isOn ? "true" : "" })}
        >
          {t("audit.pages")}
        </Checkbox>
      )}
      <Button kind="primary" type="submit" isPending={isSearching}>
        {t("audit.search")}
      </Button>
      {isRange && <Button onPress={() => onSearch({ ...draft, since: "", until: "" })}>{t("audit.plot.all")}</Button>}
    </form>
  );
}

/** As the search takes it. */
const clusterName = (cluster: KubeObject): string =>
  `${projectOf(cluster.metadata.namespace ?? "")}/${nameOf(cluster)}`;

const rangeText = (since: string, until: string): string =>
  t("audit.since.range", {
    from: shortTime(Date.parse(since)),
    until: until === "" ? t("time.now") : shortTime(Date.parse(until)),
  });

/** The objects of the records, each once. */
function objectsIn(records: readonly { readonly object: string }[]): readonly string[] {
  const found = new Set<string>();
  for (const record of records) {
    const object = objectOf(record);
    if (object !== undefined && object.name !== "") found.add(`${object.resource}/${object.name}`);
    if (found.size === SUGGESTED) break;
  }
  return [...found].sort(inNaturalOrder);
}
