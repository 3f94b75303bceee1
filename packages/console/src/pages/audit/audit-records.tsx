// Records of the audit log as a table: who did what, with which key, and what came of it. A record opens with all that is known of it.

import { type AuditRecord, actorOf } from "@postern/apimachinery/audit/audit-record";
import { type ReactNode, useMemo, useState } from "react";
import { Badge } from "../../components/badge.tsx";
import { type Column, DataTable } from "../../components/tables/data-table.tsx";
import { t } from "../../texts/text.tsx";
import { RecordDialog } from "./record-dialog.tsx";
import { KeyOf, LogTime, PlaceOf, UserOf } from "./record-parts.tsx";
import { outcomeOf, recordWords } from "./record-words.ts";

const columnsWith = (open: (record: AuditRecord) => void): readonly Column<AuditRecord>[] => [
  {
    id: "time",
    header: t("audit.column.time"),
    width: "132px",
    from: "medium",
    sortBy: ({ time }) => time,
    cell: ({ time }) => <LogTime at={time} />,
  },
  {
    id: "user",
    header: t("audit.column.who"),
    from: "medium",
    sortBy: actorOf,
    text: (record) => {
      const { impersonatedUser, key } = record;
      return longer(impersonatedUser === undefined ? actorOf(record) : `${record.user} → ${impersonatedUser}`, key);
    },
    cell: (record) => (
      <span className="two-lines above" title={[actorOf(record), record.key].filter(Boolean).join(", ")}>
        <span>
          <UserOf user={actorOf(record)} />
          {record.impersonatedUser !== undefined && ` → ${record.impersonatedUser}`}
        </span>
        <span className="muted">
          <KeyOf record={record} />
        </span>
      </span>
    ),
  },
  {
    id: "request",
    header: t("audit.column.request"),
    least: 280,
    sortBy: recordWords,
    text: (record) => longer(recordWords(record), `${record.verb} ${record.object}`),
    cell: (record) => (
      <span className="two-lines">
        <button type="button" className="row-link" title={recordWords(record)} onClick={() => open(record)}>
          {recordWords(record)}
        </button>
        <span className="muted mono" title={`${record.verb} ${record.object}`}>
          {record.verb} {record.object}
        </span>
        <span className="muted narrow-only" title={actorOf(record)}>
          <LogTime at={record.time} /> · {actorOf(record)}
        </span>
      </span>
    ),
  },
  {
    id: "cluster",
    header: t("audit.column.cluster"),
    from: "wide",
    sortBy: ({ cluster }) => cluster,
    text: ({ cluster }) => cluster || t("audit.platform"),
    cell: ({ cluster }) => (
      <span className="above">
        <PlaceOf cluster={cluster} />
      </span>
    ),
  },
  {
    id: "code",
    header: t("audit.column.code"),
    width: "156px",
    sortBy: ({ code }) => code,
    cell: (record) => <Badge tone={outcomeOf(record).tone}>{outcomeOf(record).words}</Badge>,
  },
  {
    id: "from",
    header: t("audit.column.from"),
    from: "wide",
    sortBy: ({ sourceIP }) => sourceIP,
    cell: ({ sourceIP }) => <span className="mono">{sourceIP}</span>,
  },
];

const longer = (one: string, other: string): string => (one.length < other.length ? other : one);

export function AuditRecords(props: {
  readonly label: string;
  readonly records: readonly AuditRecord[];
  readonly empty: ReactNode;
}) {
  const { label, records, empty } = props;
  const [opened, setOpened] = useState<AuditRecord>();
  const columns = useMemo(() => columnsWith(setOpened), []);
  return (
    <>
      <DataTable
        label={label}
        columns={columns}
        rows={records}
        rowKey={({ auditID, time }) => `${auditID} ${time}`}
        sort={{ column: "time", isDescending: true }}
        empty={empty}
      />
      {opened !== undefined && <RecordDialog record={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}
