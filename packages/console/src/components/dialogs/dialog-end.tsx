// The end of a dialog that does one thing: why the user may not do it, why it failed, and the buttons.

import type { ReactNode } from "react";
import type { Right } from "../../api/use-may.ts";
import { Button } from "../button.tsx";
import { ErrorNotice } from "../notice.tsx";
import { MayNot } from "../refusals/why-not.tsx";

/** `close`: the label of the button that closes the dialog; `children`: the button that does the work. */
export function DialogEnd(props: {
  readonly right: Right;
  readonly error: Error | null;
  readonly close: string;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}) {
  const { right, error, close, onClose, children } = props;
  return (
    <>
      <MayNot right={right} />
      {error !== null && <ErrorNotice error={error} />}
      <footer className="dialog-actions">
        <Button onPress={onClose}>{close}</Button>
        {children}
      </footer>
    </>
  );
}
