// A button that opens a dialog. The dialog is rendered while it is open, and begins anew each time.

import { type ReactNode, useState } from "react";
import { Button } from "../button.tsx";

/** `children` renders the dialog. */
export function DialogButton(props: { readonly label: string; readonly children: (close: () => void) => ReactNode }) {
  const { label, children } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onPress={() => setOpen(true)}>{label}</Button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}
