// All access keys that the user can see: their own, those of their teams, and all keys for administrators.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useMemo } from "react";
import { ACCESS_KEYS, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { createdColumn } from "../../components/created-column.tsx";
import type { Column } from "../../components/data-table.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Checkbox, SearchField, SelectField } from "../../components/fields.tsx";
import { LiveTable } from "../../components/live-table.tsx";
import { NewObjectLink } from "../../components/new-object-link.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { counted, named, t } from "../../texts/text.tsx";
import { filterKeys, isTemporary, keyState, type Moment, ownerOf } from "./key-state.ts";
import { KeyStateBadge, useMoment } from "./key-state-badge.tsx";
import { scopeSummary } from "./scope-words.ts";

const STATES = ["", "attention", "good", "ending", "idle", "unused", "permanent", "refused"] as const;

/** Sorts after every time. Times of the API sort as texts, which is much faster than parsing ten thousand of them. */
const NEVER = "~";

const columnsAt = (now: Moment): readonly Column<OwnedAccessKey>[] => [
  {
    id: "name",
    header: t("keys.column.name"),
    sortBy: (key) => (key.spec?.displayName || nameOf(key)).toLowerCase(),
    cell: (key) => (
      <span className="two-lines">
        <Link to="/keys/$name" params={{ name: nameOf(key) }} className="row-link">
          {key.spec?.displayName || nameOf(key)}
        </Link>
        {key.spec?.displayName !== undefined && key.spec.displayName !== "" && (
          <span className="muted mono">{nameOf(key)}</span>
        )}
      </span>
    ),
  },
  {
    id: "state",
    header: t("keys.column.state"),
    width: "134px",
    sortBy: (key) => keyState(key, now).id,
    cell: (key) => <KeyStateBadge accessKey={key} />,
  },
  {
    id: "owner",
    header: t("keys.column.owner"),
    width: "116px",
    from: "medium",
    sortBy: (key) => ownerOf(key).name,
    cell: (key) => (
      <>
        {ownerOf(key).name}{" "}
        {ownerOf(key).kind !== "user" && <span className="muted">{t(`owner.${ownerOf(key).kind}`)}</span>}
      </>
    ),
  },
  {
    id: "scope",
    header: t("keys.column.scope"),
    width: "18%",
    from: "wide",
    cell: (key) => <span title={scopeSummary(key.spec ?? {})}>{scopeSummary(key.spec ?? {})}</span>,
  },
  {
    id: "used",
    header: t("keys.column.used"),
    width: "120px",
    from: "medium",
    sortBy: (key) => key.status?.lastActivity ?? "",
    cell: (key) => <Time at={key.status?.lastActivity} otherwise={t("key.neverUsed")} />,
  },
  {
    id: "expires",
    header: t("keys.column.expires"),
    width: "120px",
    from: "medium",
    sortBy: (key) => key.status?.expirationTimestamp ?? NEVER,
    cell: (key) => <Time at={key.status?.expirationTimestamp} otherwise={t("key.neverExpires")} />,
  },
  createdColumn(t("keys.column.created"), (object) => object, "120px"),
];

/** Each owner once, as the filter names it. */
function ownersOf(keys: readonly OwnedAccessKey[]): readonly string[] {
  const found = new Set<string>();
  for (const key of keys) {
    const { kind, name } = ownerOf(key);
    found.add(`${kind}/${name}`);
  }
  return [...found].sort();
}

export function KeysPage() {
  const list = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const { items } = list;
  const search: { readonly [name: string]: string } = useSearch({ strict: false });
  const navigate = useNavigate({ from: "/keys" });
  const now = useMoment();
  const columns = useMemo(() => columnsAt(now), [now]);
  const { q = "", state = "", owner = "", sessions = "" } = search;
  // Typing stays fast while ten thousand keys are searched.
  const text = useDeferredValue(q);
  const hasTemporary = sessions === "true";
  const shown = useMemo(
    () => filterKeys(items, { text, state, owner, hasTemporary }, now),
    [items, text, state, owner, hasTemporary, now],
  );
  const owners = useMemo(() => ownersOf(items), [items]);
  const temporaryCount = useMemo(() => items.filter(isTemporary).length, [items]);
  const choose = (name: string, value: string): void => {
    void navigate({
      replace: true,
      search: Object.fromEntries(Object.entries({ ...search, [name]: value }).filter(([, given]) => given !== "")),
    });
  };
  const create = <NewObjectLink to="/new/key" resource="ownedaccesskeys" label={t("keys.create")} />;
  return (
    <>
      <PageHead title={t("keys.title")} lead={t("keys.lead")} actions={create} />
      <LiveTable
        list={list}
        label={t("keys.title")}
        columns={columns}
        rows={shown}
        rowKey={(key) => key.metadata.uid ?? nameOf(key)}
        sort={{ column: "created", isDescending: true }}
        empty={
          items.some((key) => !isTemporary(key)) ? (
            <EmptyState title={t("keys.none.title")}>{t("keys.none.text")}</EmptyState>
          ) : (
            <EmptyState title={t("keys.empty.title")} actions={create}>
              {t("keys.empty.text")}
            </EmptyState>
          )
        }
        count={counted("keys.count", shown.length)}
        filters={
          <>
            <SearchField label={t("keys.search")} value={q} onChange={(value) => choose("q", value)} />
            <SelectField
              label={t("keys.filter.state")}
              isCompact
              value={state}
              choices={STATES.map((id) => ({ id, label: named("keys.state", id || "all") }))}
              onChange={(id) => choose("state", id)}
            />
            {owners.length > 1 && (
              <SelectField
                label={t("keys.filter.owner")}
                isCompact
                value={owner}
                choices={[{ id: "", label: t("keys.owner.all") }, ...owners.map((id) => ({ id, label: id }))]}
                onChange={(id) => choose("owner", id)}
              />
            )}
            {temporaryCount > 0 && (
              <Checkbox isSelected={hasTemporary} onChange={(isOn) => choose("sessions", isOn ? "true" : "")}>
                {t("keys.filter.temporary")}
              </Checkbox>
            )}
          </>
        }
      />
    </>
  );
}
