# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, as a person would use it with a page."""

import os
import shutil
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.common.by import By

#: .ci/run sets this, and installs it where it can: then it has to be there.
IS_REQUIRED = bool(os.environ.get('BROWSER_TO_TEST'))
_PROGRAMS = os.environ.get('BROWSER_TO_TEST') or 'chromium', 'chromedriver'
IS_INSTALLED = all(map(shutil.which, _PROGRAMS))


@contextmanager
def opened(*preferences):
    """A browser of its own, with some preferences."""
    program, driver = map(shutil.which, _PROGRAMS)
    assert program, f'{_PROGRAMS[0]} is not installed'
    assert driver, f'{_PROGRAMS[1]} is not installed'
    options = webdriver.ChromeOptions()
    options.binary_location = program
    # In a container the tests may run as root, and shared memory may be scarce.
    for argument in ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage'):
        options.add_argument(argument)
    options.add_experimental_option('prefs', dict(preferences))
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    with webdriver.Chrome(options, webdriver.ChromeService(driver)) as browser:
        yield browser


def all_of(where, selector):
    """The elements that a selector of CSS means."""
    return where.find_elements(By.CSS_SELECTOR, selector)


def one(where, selector):
    """The only one."""
    [element] = all_of(where, selector)
    return element


#: One question to the browser for all cells: one for each would take a second a page.
_CELLS = """return [...arguments[0].querySelectorAll(':scope > tbody > tr')]
    .map(row => [...row.children].map(cell => cell.innerText.trim()))"""


def cells(table):
    """What stands in the rows of a table, those of tables in it left out."""
    return table.parent.execute_script(_CELLS, table)
