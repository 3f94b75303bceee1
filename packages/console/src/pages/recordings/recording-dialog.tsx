// One recording: what it is of, and how to play it.

import { RECORDINGS_PATH, type SessionRecordingItem } from "@postern/api/session-recording";
import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { Code } from "../../components/copy-text.tsx";
import { DescriptionList } from "../../components/description-list.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { absoluteTime } from "../../format/ages.ts";
import { named, t } from "../../texts/text.tsx";
import { commandOf, durationOf, podPathOf, TONES } from "./recording-words.ts";

export function RecordingDialog(props: { readonly item: SessionRecordingItem; readonly onClose: () => void }) {
  const { item, onClose } = props;
  const { name, user, pod, container, state, startTime, bytes, server, auditID } = item;
  return (
    <Dialog title={t("recordings.of", { user, pod })} isOpen isWide onClose={onClose}>
      <DescriptionList
        items={[
          [
            t("field.state"),
            <Badge key="state" tone={TONES[state]}>
              {named("recordings.state", state)}
            </Badge>,
          ],
          [t("recordings.column.pod"), <code key="pod">{podPathOf(item)}</code>],
          container !== "" && [t("recordings.container"), <code key="container">{container}</code>],
          [t("recordings.column.command"), <code key="command">{commandOf(item)}</code>],
          [t("recordings.column.start"), absoluteTime(Date.parse(startTime))],
          [t("recordings.column.duration"), durationOf(item)],
          [t("recordings.size"), t("recordings.bytes", { count: bytes })],
          [t("recordings.server"), server],
          [t("recordings.auditID"), <code key="id">{auditID}</code>],
        ]}
      />
      <Code label={t("recordings.play")} text={`postern recording play ${name}`} />
      <Code label={t("recordings.text")} text={`postern recording play ${name} --format text`} />
      <p className="hint">{t("recordings.download.hint")}</p>
      <footer className="dialog-actions">
        <a className="button plain" href={`${RECORDINGS_PATH}/${encodeURIComponent(name)}`} download={`${name}.cast`}>
          <Download aria-hidden="true" />
          {t("recordings.download")}
        </a>
        <Link to="/audit" search={{ user, show: "all" }} className="button plain" onClick={onClose}>
          {t("recordings.audit")}
        </Link>
        <Button kind="primary" onPress={onClose}>
          {t("action.close")}
        </Button>
      </footer>
    </Dialog>
  );
}
