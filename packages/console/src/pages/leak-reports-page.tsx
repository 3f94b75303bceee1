// Keys whose values were reported as leaked, their state, and how to report a leak.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { ACCESS_KEYS, nameOf } from "../api/resources.ts";
import { useLive } from "../api/use-live.ts";
import { Code } from "../components/copy-text.tsx";
import { TIME_WIDTH } from "../components/created-column.tsx";
import type { Column } from "../components/data-table.tsx";
import { EmptyState } from "../components/empty-state.tsx";
import { LiveTable } from "../components/live-table.tsx";
import { PageHead, Section } from "../components/page-head.tsx";
import { Time } from "../components/time.tsx";
import { useListSearch } from "../components/use-list-search.tsx";
import { settings } from "../settings.ts";
import { t } from "../texts/text.tsx";
import { ownerOf } from "./keys/key-state.ts";
import { KeyStateBadge } from "./keys/key-state-badge.tsx";

const REPORTED_AT = `${settings.domain}/leak-reported-at`;

const reportedAt = ({ metadata }: OwnedAccessKey): string => metadata.annotations?.[REPORTED_AT] ?? "";

const COLUMNS: readonly Column<OwnedAccessKey>[] = [
  {
    id: "name",
    header: t("keys.column.name"),
    sortBy: nameOf,
    cell: (key) => (
      <Link to="/keys/$name" params={{ name: nameOf(key) }} className="row-link">
        {key.spec?.displayName || nameOf(key)}
      </Link>
    ),
  },
  { id: "state", header: t("keys.column.state"), width: "130px", cell: (key) => <KeyStateBadge accessKey={key} /> },
  {
    id: "owner",
    header: t("keys.column.owner"),
    from: "medium",
    sortBy: (key) => ownerOf(key).name,
    cell: (key) => ownerOf(key).name,
  },
  {
    id: "reported",
    header: t("leaks.column.reported"),
    width: TIME_WIDTH,
    from: "medium",
    sortBy: reportedAt,
    cell: (key) => <Time at={reportedAt(key)} otherwise="" />,
  },
];

const searchedIn = (key: OwnedAccessKey): string =>
  `${nameOf(key)} ${key.spec?.displayName ?? ""} ${ownerOf(key).name}`;

export function LeakReportsPage() {
  const list = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const { items } = list;
  const reported = useMemo(() => items.filter((key) => reportedAt(key) !== ""), [items]);
  const { shown, field } = useListSearch(reported, t("keys.search"), searchedIn);
  return (
    <>
      <PageHead title={t("leaks.title")} lead={t("leaks.lead")} />
      <LiveTable
        list={list}
        label={t("leaks.title")}
        columns={COLUMNS}
        rows={shown}
        filters={reported.length > 0 && field}
        rowKey={(key) => key.metadata.uid ?? nameOf(key)}
        sort={{ column: "reported", isDescending: true }}
        empty={<EmptyState title={t("leaks.empty.title")}>{t("leaks.empty.text")}</EmptyState>}
      />
      <Section title={t("leaks.report.title")} lead={t("leaks.report.lead")}>
        <Code
          label={t("leaks.report.command")}
          text={`curl ${location.origin}/leaks --header 'Content-Type: application/json' --data-binary @found.json`}
        />
      </Section>
    </>
  );
}
