// Keys whose values were reported as leaked, their state, and how to report a leak.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import { ACCESS_KEYS, nameOf, titleOf } from "../api/resources.ts";
import { useLive } from "../api/use-live.ts";
import { Button } from "../components/button.tsx";
import { Code } from "../components/copy-text.tsx";
import { EmptyState } from "../components/empty-state.tsx";
import { TextField } from "../components/forms/text-field.tsx";
import { ErrorNotice, Notice } from "../components/notice.tsx";
import { PageHead, Section } from "../components/page-head.tsx";
import type { Column } from "../components/tables/data-table.tsx";
import { LiveTable } from "../components/tables/live-table.tsx";
import { TIME_WIDTH } from "../components/tables/object-columns.tsx";
import { useListSearch } from "../components/tables/use-list-search.tsx";
import { Time } from "../components/time.tsx";
import { settings } from "../settings.ts";
import { t } from "../texts/text.tsx";
import { ownerOf } from "./keys/key-state.ts";
import { KeyStateBadge } from "./keys/key-state-badge.tsx";

const REPORTED_AT = `${settings.domain}/leak-reported-at`;

const reportedAt = ({ metadata }: OwnedAccessKey): string => metadata.annotations?.[REPORTED_AT] ?? "";

const COLUMNS: readonly Column<OwnedAccessKey>[] = [
  {
    id: "name",
    header: t("field.name"),
    sortBy: nameOf,
    cell: (key) => (
      <Link to="/keys/$name" params={{ name: nameOf(key) }} className="row-link">
        {titleOf(key)}
      </Link>
    ),
  },
  { id: "state", header: t("field.state"), width: "130px", cell: (key) => <KeyStateBadge accessKey={key} /> },
  {
    id: "owner",
    header: t("field.owner"),
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

/** As a scanner does: without the session. */
async function report(text: string): Promise<void> {
  const response = await fetch("/leaks", {
    method: "POST",
    credentials: "omit",
    headers: { "content-type": "text/plain" },
    body: text,
  });
  if (response.ok) return;
  // The server answers with a Status.
  const { message = response.statusText } = (await response.json()) as { readonly message?: string };
  throw new Error(message);
}

/** Reported keys appear in the list above. What was sent does not stay in the form. */
function ReportLeak() {
  const [text, setText] = useState("");
  const sent = useMutation({ mutationFn: report, onSuccess: () => setText(""), gcTime: 0 });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    sent.mutate(text);
  };
  return (
    <form className="form card narrow" onSubmit={submit}>
      <TextField
        label={t("leaks.report.text")}
        description={t("leaks.report.hint")}
        value={text}
        onChange={(value) => {
          sent.reset();
          setText(value);
        }}
        isMultiline
        isMonospace
        isRequired
      />
      <div>
        <Button kind="danger" type="submit" isPending={sent.isPending} isDisabled={text.trim() === ""}>
          {t("leaks.report.send")}
        </Button>
      </div>
      <div aria-live="polite">
        {sent.isError && <ErrorNotice error={sent.error} />}
        {sent.isSuccess && <Notice tone="good">{t("leaks.report.sent")}</Notice>}
      </div>
    </form>
  );
}

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
        sort={{ column: "reported", isDescending: true }}
        empty={<EmptyState title={t("leaks.empty.title")}>{t("leaks.empty.text")}</EmptyState>}
      />
      <Section title={t("leaks.report.title")} lead={t("leaks.report.lead")}>
        <ReportLeak />
        <Code
          label={t("leaks.report.command")}
          text={`curl ${location.origin}/leaks --header 'Content-Type: application/json' --data-binary @found.json`}
        />
      </Section>
    </>
  );
}
