// Recordings of sessions in pods: the newest of a search, and older ones on demand.

import { RECORDINGS_PATH, type SessionRecordingItem, type SessionRecordingList } from "@postern/api/session-recording";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiClient } from "@postern/client/api-client";
import { hashKey, useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { CLUSTERS, PROJECTS, USERS } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { SelectField } from "../../components/forms/fields.tsx";
import { NameField } from "../../components/forms/name-field.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { Loading } from "../../components/loading.tsx";
import { ErrorNotice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { type Column, DataTable } from "../../components/tables/data-table.tsx";
import { Time } from "../../components/time.tsx";
import { counted, named, t } from "../../texts/text.tsx";
import { RecordingDialog } from "./recording-dialog.tsx";
import { commandOf, durationOf, podPathOf, TONES } from "./recording-words.ts";
import "./recording-texts.ts";

/** As the address has it: what is absent is the default. */
type Search = { readonly [name: string]: string };

/** Seconds before now; `0`: the beginning. */
const SINCE = ["86400", "604800", "2592000", "0"] as const;
const USUAL_SINCE = "604800";
/** Filters that the server takes as they are. */
const TEXTS = ["user", "project", "cluster", "pod"] as const;
const PAGE = "200";

export function RecordingsPage() {
  const right = useMay({ verb: "get", path: RECORDINGS_PATH });
  const given: Search = useSearch({ strict: false });
  if (!right.isKnown) return <Loading />;
  return (
    <>
      <PageHead title={t("recordings.title")} lead={t("recordings.lead")} />
      {right.isAllowed ? (
        <Recordings key={hashKey([given])} search={given} />
      ) : (
        <EmptyState title={t("recordings.mayNot")}>{t("recordings.mayNot.hint")}</EmptyState>
      )}
    </>
  );
}

/** A search of its own: another one begins anew. */
function Recordings({ search }: { readonly search: Search }) {
  const { client } = useApi();
  const newest = useQuery({
    queryKey: ["recordings", search],
    queryFn: ({ signal }) => listRecordings(client, search, signal),
    retry: false,
  });
  const [opened, setOpened] = useState<SessionRecordingItem>();
  const columns = useMemo(() => columnsWith(setOpened), []);
  const isOff = isApiError(newest.error, "NotFound");
  const { items, next, older } = useOlder(client, search, newest.data);
  if (isOff) return <EmptyState title={t("recordings.off")}>{t("recordings.off.hint")}</EmptyState>;
  return (
    <>
      <Filters search={search} isSearching={newest.isFetching} onAgain={() => void newest.refetch()} />
      {newest.error !== null && <ErrorNotice error={newest.error} onRetry={() => void newest.refetch()} />}
      {newest.isPending && <Loading />}
      {newest.data !== undefined && (
        <>
          <p className="count" aria-live="polite">
            {items.length > 0 && counted("recordings.count", items.length)}
          </p>
          <DataTable
            label={t("recordings.title")}
            columns={columns}
            rows={items}
            rowKey={({ name }) => name}
            sort={{ column: "start", isDescending: true }}
            empty={
              next === undefined && (
                <EmptyState title={t("recordings.empty.title")}>{t("recordings.empty.text")}</EmptyState>
              )
            }
          />
        </>
      )}
      {older.error !== null && <ErrorNotice error={older.error} />}
      {next !== undefined && (
        <div>
          <Button onPress={() => older.mutate(next)} isPending={older.isPending}>
            {t("recordings.older")}
          </Button>
        </div>
      )}
      {opened !== undefined && <RecordingDialog item={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

/** The recordings of the newest list with those that were asked for behind it. */
function useOlder(client: ApiClient, search: Search, newest: SessionRecordingList | undefined) {
  const [further, setFurther] = useState<{ readonly of: SessionRecordingList; readonly list: SessionRecordingList }>();
  const list = further !== undefined && further.of === newest ? further.list : newest;
  const items = list?.items ?? [];
  const older = useMutation({
    mutationFn: (next: string) => listRecordings(client, { ...search, continue: next }),
    onSuccess(found) {
      if (newest !== undefined) setFurther({ of: newest, list: { ...found, items: [...items, ...found.items] } });
    },
  });
  return { items, next: list?.continue, older };
}

async function listRecordings(client: ApiClient, search: Search, signal?: AbortSignal): Promise<SessionRecordingList> {
  const seconds = Number(search["since"] ?? USUAL_SINCE);
  const query = {
    ...Object.fromEntries(TEXTS.map((name) => [name, search[name]?.trim() || undefined])),
    since: seconds > 0 ? new Date(Date.now() - seconds * 1_000).toISOString() : undefined,
    continue: search["continue"],
    limit: PAGE,
  };
  // The route answers in this shape.
  return (await client.request({
    method: "GET",
    path: RECORDINGS_PATH,
    query,
    ...(signal && { signal }),
  })) as SessionRecordingList;
}

/** A choice searches at once; what is typed when the form is sent. */
function Filters(props: { readonly search: Search; readonly isSearching: boolean; readonly onAgain: () => void }) {
  const { search, isSearching, onAgain } = props;
  const navigate = useNavigate({ from: "/recordings" });
  const [draft, setDraft] = useState(search);
  const field = (name: (typeof TEXTS)[number]) => ({
    label: t(`recordings.${name}`),
    value: draft[name] ?? "",
    onChange: (value: string) => setDraft({ ...draft, [name]: value }),
  });
  const go = (wanted: Search): void => {
    const next = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value.trim() !== ""));
    if (hashKey([next]) === hashKey([search])) onAgain();
    else void navigate({ replace: true, search: next });
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    go(draft);
  };
  return (
    <form className="toolbar filters" onSubmit={submit}>
      <SelectField
        label={t("recordings.since")}
        value={search["since"] ?? USUAL_SINCE}
        choices={SINCE.map((id) => ({ id: id as string, label: t(`recordings.since.${id}`) }))}
        onChange={(id) => go({ ...draft, since: id === USUAL_SINCE ? "" : id })}
      />
      <NameField of={USERS} {...field("user")} />
      <NameField of={PROJECTS} {...field("project")} />
      <NameField of={CLUSTERS} {...field("cluster")} />
      <TextField {...field("pod")} />
      <Button kind="primary" type="submit" isPending={isSearching}>
        {t("recordings.search")}
      </Button>
    </form>
  );
}

const columnsWith = (open: (item: SessionRecordingItem) => void): readonly Column<SessionRecordingItem>[] => [
  {
    id: "pod",
    header: t("recordings.column.pod"),
    least: 200,
    sortBy: podPathOf,
    text: podPathOf,
    cell: (item) => (
      <span className="two-lines">
        <button type="button" className="row-link" title={podPathOf(item)} onClick={() => open(item)}>
          {podPathOf(item)}
        </button>
        <span className="muted narrow-only">
          <Time at={item.startTime} otherwise="" /> · {item.user}
        </span>
      </span>
    ),
  },
  {
    id: "command",
    header: t("recordings.column.command"),
    from: "medium",
    sortBy: commandOf,
    text: commandOf,
    cell: (item) => <code title={commandOf(item)}>{commandOf(item)}</code>,
  },
  {
    id: "user",
    header: t("recordings.user"),
    from: "medium",
    sortBy: ({ user }) => user,
    text: ({ user }) => user,
    cell: ({ user }) => user,
  },
  {
    id: "start",
    header: t("recordings.column.start"),
    width: "132px",
    from: "medium",
    sortBy: ({ startTime }) => startTime,
    cell: ({ startTime }) => <Time at={startTime} otherwise="" />,
  },
  {
    id: "duration",
    header: t("recordings.column.duration"),
    width: "104px",
    from: "wide",
    sortBy: ({ durationSeconds }) => durationSeconds,
    cell: durationOf,
  },
  {
    id: "state",
    header: t("field.state"),
    width: "116px",
    sortBy: ({ state }) => state,
    cell: ({ state }) => <Badge tone={TONES[state]}>{named("recordings.state", state)}</Badge>,
  },
];
