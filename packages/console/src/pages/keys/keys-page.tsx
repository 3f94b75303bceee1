// All access keys that the user can see: their own, those of their teams, and all keys for administrators.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { Link } from "@tanstack/react-router";
import { useDeferredValue, useMemo } from "react";
import { ACCESS_KEYS, nameOf, titleOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { SearchField, SelectField } from "../../components/forms/fields.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import { PageHead } from "../../components/page-head.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { LiveTable } from "../../components/tables/live-table.tsx";
import { createdColumn, TIME_WIDTH, titleColumn } from "../../components/tables/object-columns.tsx";
import { Time } from "../../components/time.tsx";
import { useAddress } from "../../components/use-address.ts";
import { useNarrow } from "../../components/use-narrow.ts";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { counted, named, numberText, t } from "../../texts/text.tsx";
import { BulkActions } from "./bulk-actions.tsx";
import { filterKeys, type KeyKind, keyState, kindOf, type Moment, ownerOf } from "./key-state.ts";
import { KeyStateBadge, useMoment } from "./key-state-badge.tsx";
import { scopeSummary } from "./scopes/scope-words.ts";
import { LastUsed } from "./use/last-used.tsx";

const STATES = ["", "attention", "good", "ending", "idle", "unused", "permanent", "refused"] as const;

/** Sorts after every time. Times of the API sort as texts, which is much faster than parsing ten thousand of them. */
const NEVER = "9999";

const columnsAt = (now: Moment, isNarrow: boolean): readonly Column<OwnedAccessKey>[] => [
  titleColumn((key) => `/keys/${nameOf(key)}`),
  {
    id: "state",
    header: t("field.state"),
    width: isNarrow ? "120px" : "134px",
    sortBy: (key) => keyState(key, now).id,
    text: (key) => named("key.state", keyState(key, now).id),
    cell: (key) => <KeyStateBadge accessKey={key} />,
  },
  {
    id: "owner",
    header: t("field.owner"),
    from: "medium",
    sortBy: (key) => ownerOf(key).name,
    text: (key) => `${ownerOf(key).name} ${ownerOf(key).kind === "user" ? "" : t(`owner.${ownerOf(key).kind}`)}`.trim(),
    cell: (key) => (
      <>
        {ownerOf(key).name}{" "}
        {ownerOf(key).kind !== "user" && <span className="muted">{t(`owner.${ownerOf(key).kind}`)}</span>}
      </>
    ),
  },
  {
    id: "scope",
    header: t("field.scope"),
    from: "wide",
    text: (key) => scopeSummary(key.spec ?? {}),
    cell: (key) => <span title={scopeSummary(key.spec ?? {})}>{scopeSummary(key.spec ?? {})}</span>,
  },
  {
    id: "used",
    header: t("field.lastUsed"),
    width: TIME_WIDTH,
    from: "medium",
    sortBy: (key) => key.status?.lastActivity ?? "",
    cell: (key) => <LastUsed accessKey={key} />,
  },
  {
    id: "expires",
    header: t("field.expires"),
    width: TIME_WIDTH,
    from: "medium",
    sortBy: (key) => key.status?.expirationTimestamp ?? NEVER,
    cell: (key) => <Time at={key.status?.expirationTimestamp} otherwise={t("key.neverExpires")} />,
  },
  createdColumn(),
];

/** Each owner once, as the filter names it. */
function ownersOf(keys: readonly OwnedAccessKey[]): readonly string[] {
  const found = new Set<string>();
  for (const key of keys) {
    const { kind, name } = ownerOf(key);
    found.add(`${kind}/${name}`);
  }
  return [...found].sort(inNaturalOrder);
}

const KINDS: readonly KeyKind[] = ["key", "kubeconfig", "session"];

export function KeysPage() {
  const list = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const { items } = list;
  const { search, change } = useAddress();
  const now = useMoment();
  const isNarrow = useNarrow();
  const columns = useMemo(() => columnsAt(now, isNarrow), [now, isNarrow]);
  const { q = "", state = "", owner = "" } = search;
  const kind = KINDS.find((each) => each === search["tab"]) ?? "key";
  // Typing stays fast while ten thousand keys are searched.
  const text = useDeferredValue(q);
  const shown = useMemo(
    () => filterKeys(items, { text, state, owner, kind }, now),
    [items, text, state, owner, kind, now],
  );
  const owners = useMemo(() => ownersOf(items), [items]);
  const create = <NewObjectLink to="/new/key" resource="ownedaccesskeys" label={t("key.create")} />;
  return (
    <>
      <PageHead title={t("keys.title")} lead={t("keys.lead")} actions={create} />
      <Tabs items={items} kind={kind} />
      {kind === "kubeconfig" && (
        <p className="hint">
          {t("keys.kubeconfig.hint")} <Link to="/clusters">{t("clusters.title")}</Link>
        </p>
      )}
      <LiveTable
        key={kind}
        list={list}
        label={t("keys.title")}
        columns={columns}
        rows={shown}
        sort={{ column: "created", isDescending: true }}
        titleOf={titleOf}
        bulk={(keys, end) => <BulkActions keys={keys} now={now.now} onEnd={end} />}
        empty={
          kind !== "key" ? (
            <EmptyState title={t(`keys.none.${kind}`)} />
          ) : (
            <EmptyState title={t("keys.empty.title")} actions={create}>
              {t("keys.empty.text")}
            </EmptyState>
          )
        }
        count={counted("keys.count", shown.length)}
        filters={
          <>
            <SearchField label={t("keys.search")} value={q} onChange={(value) => change({ q: value })} />
            <SelectField
              label={t("field.state")}
              isCompact
              value={state}
              choices={STATES.map((id) => ({ id, label: named("keys.state", id || "all") }))}
              onChange={(id) => change({ state: id })}
            />
            {owners.length > 1 && (
              <SelectField
                label={t("field.owner")}
                isCompact
                value={owner}
                choices={[{ id: "", label: t("keys.owner.all") }, ...owners.map((id) => ({ id, label: id }))]}
                onChange={(id) => change({ owner: id })}
              />
            )}
          </>
        }
      />
    </>
  );
}

/** Keys that people create, and those that the server creates for kubeconfigs and sessions. */
function Tabs({ items, kind }: { readonly items: readonly OwnedAccessKey[]; readonly kind: KeyKind }) {
  const counts = useMemo(() => {
    const found = new Map<KeyKind, number>();
    for (const key of items) found.set(kindOf(key), (found.get(kindOf(key)) ?? 0) + 1);
    return found;
  }, [items]);
  return (
    <nav className="tabs" aria-label={t("keys.tabs")}>
      {KINDS.map((each) => (
        <Link
          key={each}
          to="/keys"
          // Named in each link: the router marks the links whose query the address has, and an empty one is in all of them.
          search={{ tab: each }}
          aria-current={each === kind ? "page" : undefined}
          activeProps={{}}
        >
          {t(`keys.tab.${each}`)} <span className="muted">{numberText(counts.get(each) ?? 0)}</span>
        </Link>
      ))}
    </nav>
  );
}
