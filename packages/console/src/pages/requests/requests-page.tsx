// Access requests: those that wait for the user's decision, the user's own, and all that the user can see.

import type { AccessRequest } from "@postern/api/access-request";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useApi } from "../../api/api-context.tsx";
import { ACCESS_REQUESTS, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { Badge } from "../../components/badge.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { SelectField } from "../../components/forms/fields.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { ListPage } from "../../components/tables/list-page.tsx";
import { createdColumn, TIME_WIDTH } from "../../components/tables/object-columns.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { Time } from "../../components/time.tsx";
import { useAddress } from "../../components/use-address.ts";
import { duration } from "../../format/ages.ts";
import { counted, named, t } from "../../texts/text.tsx";
import {
  decidersOf,
  isOwn,
  isWaiting,
  PHASE_TONES,
  phaseOf,
  placeText,
  requestTitle,
  shownPhase,
} from "./request-state.ts";

const VIEWS = ["", "waiting", "mine", "open"] as const;
type View = (typeof VIEWS)[number];

const COLUMNS: readonly Column<AccessRequest>[] = [
  {
    id: "name",
    header: t("requests.column.what"),
    sortBy: ({ spec }) => placeText(spec),
    text: requestTitle,
    cell: (request) => (
      <span className="two-lines">
        <Link to="/access-requests/$name" params={{ name: nameOf(request) }} className="row-link">
          {requestTitle(request)}
        </Link>
        <span className="muted">{request.spec.reason}</span>
      </span>
    ),
  },
  {
    id: "phase",
    header: t("field.state"),
    width: "120px",
    sortBy: shownPhase,
    cell: (request) => <PhaseBadge request={request} />,
  },
  {
    id: "requester",
    header: t("requests.column.requester"),
    from: "medium",
    sortBy: ({ status }) => status?.requester?.user ?? "",
    cell: ({ status }) => status?.requester?.user ?? "",
  },
  {
    id: "decided",
    header: t("requests.column.decided"),
    from: "wide",
    sortBy: decidersOf,
    cell: decidersOf,
  },
  {
    id: "duration",
    header: t("requests.column.duration"),
    width: "110px",
    from: "wide",
    sortBy: ({ status }) => Number(status?.durationSeconds ?? 0),
    cell: ({ status }) => duration(Number(status?.durationSeconds ?? 0)),
  },
  {
    id: "ends",
    header: t("requests.column.ends"),
    width: TIME_WIDTH,
    from: "medium",
    sortBy: ({ status }) => status?.expirationTimestamp ?? "",
    isOptional: true,
    text: (request) => (phaseOf(request) === "Approved" ? (request.status?.expirationTimestamp ?? "") : ""),
    cell: (request) =>
      phaseOf(request) === "Approved" ? <Time at={request.status?.expirationTimestamp} otherwise="" /> : "",
  },
  createdColumn(t("requests.column.asked")),
];

export function PhaseBadge({ request }: { readonly request: AccessRequest }) {
  const phase = shownPhase(request);
  return <Badge tone={PHASE_TONES[phase] ?? "muted"}>{named("request.phase", phase)}</Badge>;
}

const searchedIn = ({ metadata, spec, status }: AccessRequest): string =>
  [metadata.name, placeText(spec), spec.role, spec.reason, status?.requester?.user].join(" ");

export function RequestsPage() {
  const { session } = useApi();
  const list = useLive<AccessRequest>(ACCESS_REQUESTS);
  const { items } = list;
  const { search, change } = useAddress();
  const { view = "" } = search;
  const { user } = session;
  const wanted = useMemo(() => {
    const isIn: { readonly [view: string]: (request: AccessRequest) => boolean } = {
      waiting: (request) => isWaiting(request, user),
      mine: (request) => isOwn(request, user),
      open: (request) => ["Pending", "Approved"].includes(phaseOf(request)),
    };
    return items.filter(isIn[view] ?? (() => true));
  }, [items, view, user]);
  const { shown, field } = useListSearch(wanted, t("requests.search"), searchedIn);
  const ask = (
    <Link to="/new/access-request" className="button primary">
      {t("request.new")}
    </Link>
  );
  return (
    <ListPage
      title={t("requests.title")}
      lead={t("requests.lead")}
      actions={ask}
      list={list}
      columns={COLUMNS}
      rows={shown}
      sort={{ column: "created", isDescending: true }}
      empty={<EmptyState title={t("requests.empty.title")}>{t("requests.empty.text")}</EmptyState>}
      count={counted("requests.count", shown.length)}
      filters={
        <>
          {field}
          <SelectField<View>
            label={t("requests.view")}
            isCompact
            value={VIEWS.find((id) => id === view) ?? ""}
            choices={VIEWS.map((id) => ({ id, label: named("requests.view", id || "all") }))}
            onChange={(id) => change({ view: id })}
          />
        </>
      }
    />
  );
}
