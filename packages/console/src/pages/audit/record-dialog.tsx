// One record of the audit log at a glance: who did what with which key, where, and what came of it; and what to look for next.

import { type AuditRecord, actorOf } from "@postern/apimachinery/audit/audit-record";
import { Link } from "@tanstack/react-router";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-text.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { absoluteTime } from "../../format/ages.ts";
import { t } from "../../texts/text.tsx";
import { KeyOf, PlaceOf, UserOf } from "./record-parts.tsx";
import { objectOf, outcomeOf, questionOf, recordWords, whyOf } from "./record-words.ts";

export function RecordDialog({ record, onClose }: { readonly record: AuditRecord; readonly onClose: () => void }) {
  const { impersonatedUser, key, origins, cluster, accessRequest, sourceIP, time, auditID } = record;
  const user = actorOf(record);
  const object = objectOf(record);
  const outcome = outcomeOf(record);
  const question = questionOf(record);
  const others = origins.filter((origin) => origin !== key);
  return (
    <Dialog title={recordWords(record)} isOpen isWide onClose={onClose}>
      <p>
        <Badge tone={outcome.tone}>{outcome.words}</Badge> {whyOf(record)}
      </p>
      <DescriptionList
        items={[
          [t("audit.user"), <UserOf key="user" user={user} />],
          impersonatedUser !== undefined && [t("audit.record.as"), impersonatedUser],
          [t("audit.key"), <KeyOf key="key" record={record} />],
          others.length > 0 && [t("audit.record.origins"), others.join(", ")],
          [t("audit.column.cluster"), <PlaceOf key="place" cluster={cluster} />],
          object !== undefined &&
            object.namespace !== "" && [t("field.namespace"), <code key="namespace">{object.namespace}</code>],
          [
            t("audit.record.request"),
            <code key="request">
              {record.verb} {record.object}
            </code>,
          ],
          [t("audit.column.time"), absoluteTime(Date.parse(time))],
          [t("audit.column.from"), <code key="from">{sourceIP}</code>],
          accessRequest !== undefined && [
            t("audit.record.accessRequest"),
            <Link key="request" to="/access-requests/$name" params={{ name: accessRequest }}>
              {accessRequest}
            </Link>,
          ],
          [t("audit.record.id"), <code key="id">{auditID}</code>],
        ]}
      />
      <footer className="dialog-actions">
        {question !== undefined && (
          <Link to="/access" search={question} className="button plain" onClick={onClose}>
            {t("audit.record.check")}
          </Link>
        )}
        {key !== "" && (
          <Link to="/audit" search={{ key, show: "all" }} className="button plain" onClick={onClose}>
            {t("audit.record.sameKey")}
          </Link>
        )}
        {user !== "" && (
          <Link to="/audit" search={{ user, show: "all" }} className="button plain" onClick={onClose}>
            {t("audit.record.sameUser")}
          </Link>
        )}
        {object !== undefined && object.name !== "" && (
          <Link
            to="/audit"
            search={{ object: `${object.resource}/${object.name}`, since: "2592000" }}
            className="button plain"
            onClick={onClose}
          >
            {t("audit.record.sameObject")}
          </Link>
        )}
        <CopyButton text={`${JSON.stringify(record, undefined, 2)}\n`} label={t("audit.record.copy")} />
        <Button kind="primary" onPress={onClose}>
          {t("action.close")}
        </Button>
      </footer>
    </Dialog>
  );
}
