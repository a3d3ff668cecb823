// Keys, paste and drop of the page. It acts through the controls that are there, so that whatever works by script works by hand.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const slots = {
    picture: {pane: '#ask-picture', button: '#show-picture', type: 'image/'},
    sound: {pane: '#ask-sound', button: '#show-sound', type: 'audio/'},
  };
  const searching = () => $('#ask') && $('#ask').offsetParent !== null;

  // The panes for a picture and a sound are folded until they are asked for or hold something.
  const show = (name, open) => {
    const {pane, button} = slots[name];
    $(pane).classList.toggle('open', open);
    $(button).setAttribute('aria-expanded', open);
    $('#attach').classList.toggle('open', Object.values(slots).some((slot) => $(slot.pane).classList.contains('open')));
  };
  const isOpen = (name) => $(slots[name].pane).classList.contains('open');

  // Give a file to the upload control of a pane; a pane that holds one already is emptied first.
  const attach = async (name, file) => {
    const pane = $(slots[name].pane);
    show(name, true);
    let input = $('input[type=file]', pane);
    if (!input) {
      $('button[aria-label="Remove Image"], button[aria-label="Clear"], button[title="Clear"]', pane)?.click();
      for (let tries = 0; tries < 40 && !input; tries += 1) {
        await new Promise((done) => setTimeout(done, 25));
        input = $('input[type=file]', pane);
      }
    }
    if (!input) return;
    const data = new DataTransfer();
    data.items.add(file);
    input.files = data.files;
    input.dispatchEvent(new Event('change', {bubbles: true}));
  };
  const attachFirst = (files, event) => {
    for (const file of files) {
      const name = Object.keys(slots).find((key) => file.type.startsWith(slots[key].type));
      if (name) {
        event.preventDefault();
        event.stopPropagation();
        attach(name, file);
        return;
      }
    }
  };

  document.addEventListener('click', (event) => {
    for (const name of Object.keys(slots)) if (event.target.closest(slots[name].button)) show(name, !isOpen(name));
    const fold = event.target.closest('[data-toggle]');
    if (fold) fold.setAttribute('aria-expanded', $(fold.dataset.toggle).classList.toggle('open'));
    if (event.target.closest('#clear')) Object.keys(slots).forEach((name) => show(name, false));
    if (event.target.closest('.example, [data-event=like]')) window.scrollTo({top: 0, behavior: 'instant'});
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !searching() || event.defaultPrevented) return;
    $('#clear').click();
    $('#words textarea, #words input')?.focus();
  });
  document.addEventListener('paste', (event) => {
    if (searching() && event.clipboardData?.files.length) attachFirst([...event.clipboardData.files], event);
  }, true);
  document.addEventListener('dragover', (event) => {
    if (searching() && [...(event.dataTransfer?.types ?? [])].includes('Files')) {
      event.preventDefault();
      $('#ask').classList.add('dropping');
    }
  });
  document.addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) $('#ask')?.classList.remove('dropping');
  });
  document.addEventListener('drop', (event) => {
    $('#ask')?.classList.remove('dropping');
    if (searching() && event.dataTransfer?.files.length) attachFirst([...event.dataTransfer.files], event);
  }, true);
  // One sound at a time.
  document.addEventListener('play', (event) => {
    document.querySelectorAll('audio').forEach((player) => { if (player !== event.target) player.pause(); });
  }, true);
})();
