// A button that is dragged onto another box with a mouse, a pen or a finger; who presses it only, clicks.

import { within } from './shared/make.js';

/** A finger that trembles does not drag. */
const FAR = 6;
/** So near to the edge of the window the page comes along, by so much for each move. */
const EDGE = 56;
const SCROLL = 12;

/**
 * Buttons of the class `.chip` in `root` may be dragged. `over(box)` is told of the box (of the class `boxes`) that one is held over,
 * or of null; `drop(chip, box)` of where it was let go.
 */
export function dragging(root, boxes, over, drop) {
  let held = null;
  const boxAt = ({ clientX, clientY }) => document.elementFromPoint(clientX, clientY)?.closest(boxes) ?? null;
  const place = ({ clientX, clientY }) => Object.assign(held.ghost.style, { left: `${clientX - held.x}px`, top: `${clientY - held.y}px` });

  /** What follows the pointer is a copy: the button keeps its place and the focus. */
  function lift(event) {
    held.ghost = held.chip.cloneNode(true);
    held.ghost.classList.add('ghost');
    held.ghost.setAttribute('aria-hidden', 'true');
    held.chip.parentNode.append(held.ghost);
    place(event);
  }
  function end(box) {
    const { ghost, chip } = held;
    held = null;
    over(null);
    ghost?.remove();
    if (ghost) drop(chip, box);
  }

  root.addEventListener('pointerdown', event => {
    const chip = event.button === 0 && event.target.closest('.chip');
    if (!chip || held) return;
    const { left, top } = chip.getBoundingClientRect();
    held = { chip, id: event.pointerId, ghost: null, from: [event.clientX, event.clientY], x: event.clientX - left, y: event.clientY - top };
    chip.setPointerCapture(event.pointerId);
  });
  root.addEventListener('pointermove', event => {
    if (held?.id !== event.pointerId) return;
    const { clientX, clientY } = event;
    if (!held.ghost && Math.hypot(clientX - held.from[0], clientY - held.from[1]) < FAR) return;
    if (held.ghost) place(event);
    else lift(event);
    over(boxAt(event));
    const beyond = clientY - within(clientY, EDGE, innerHeight - EDGE);
    if (beyond) scrollBy(0, Math.sign(beyond) * SCROLL);
  });
  root.addEventListener('pointerup', event => {
    if (held?.id !== event.pointerId) return;
    const dragged = Boolean(held.ghost), box = boxAt(event);
    end(box);
    if (!dragged) return;
    // The click that follows belongs to the dragging.
    const nothing = click => { click.stopPropagation(); click.preventDefault(); };
    addEventListener('click', nothing, { capture: true, once: true });
    setTimeout(() => removeEventListener('click', nothing, { capture: true }), 0);
  });
  root.addEventListener('pointercancel', event => {
    if (held?.id !== event.pointerId) return;
    held.ghost?.remove();
    held.ghost = null;
    end(null);
  });
}
